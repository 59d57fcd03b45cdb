import type { Attributes } from '../access/access.ts';

/** What a request is about, by its first line alone. */
export interface RequestTarget {
  /** Decoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** What the access rules are asked about. */
  readonly attributes: Attributes;
  /** Undefined: the path is none of a resource. */
  readonly resource: ResourcePath | undefined;
}

/** The path of a resource, taken apart: whether there is such a resource is another question. */
export interface ResourcePath {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  /** The outdated `/watch/` after the version. */
  readonly isWatch: boolean;
  /** '' where the path has an empty segment: every namespace. */
  readonly namespace: string | undefined;
  /** The resource, then perhaps a name, a subresource and what there cannot be. */
  readonly parts: readonly string[];
}

const NAMESPACE_SUBRESOURCES: readonly (string | undefined)[] = ['status', 'finalize'];

/** Takes a request's first line apart. Undefined: the path cannot be decoded. */
export function parseTarget(method: string, url: string): RequestTarget | undefined {
  const target = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/?]*/i, '');
  const mark = target.indexOf('?');
  const path = decoded(mark === -1 ? target : target.slice(0, mark));
  if (path === undefined) return undefined;
  const query = new URLSearchParams(mark === -1 ? '' : target.slice(mark + 1));
  const resource = parseResourcePath(path);
  const attributes: Attributes = resource
    ? resourceAttributes(method, resource, query)
    : { kind: 'path', verb: method.toLowerCase(), path };
  return { path, query, attributes, resource };
}

/** Whether a boolean parameter is set: everything but `0` and `false` sets it, no value included. */
export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

function decoded(path: string): string | undefined {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** `/api/v1/...` or `/apis/GROUP/VERSION/...`, and something behind it. */
function parseResourcePath(path: string): ResourcePath | undefined {
  const segments = withoutTrailingSlashes(path).replace(/^\//, '').split('/');
  const isCore = segments[0] === 'api';
  const group = isCore ? '' : (segments[1] ?? '');
  const [version, ...rest] = segments.slice(isCore ? 1 : 2);
  if ((!isCore && segments[0] !== 'apis') || version === undefined || rest.length === 0) return undefined;
  const isWatch = rest[0] === 'watch';
  const parts = isWatch ? rest.slice(1) : rest;
  const hasNamespace =
    parts[0] === 'namespaces' && parts.length > 2 && !NAMESPACE_SUBRESOURCES.includes(parts[2]);
  return {
    group,
    version,
    isWatch,
    namespace: hasNamespace ? parts[1] : undefined,
    parts: hasNamespace ? parts.slice(2) : parts,
  };
}

/** A regular expression would try every slash as the first of the last ones. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function resourceAttributes(method: string, path: ResourcePath, query: URLSearchParams): Attributes {
  const { group, isWatch, parts } = path;
  const [resource = '', name, subresource] = parts;
  // A namespace is in itself.
  const namespace = path.namespace ?? (resource === 'namespaces' ? name : undefined);
  return {
    kind: 'resource',
    verb: isWatch ? 'watch' : verbOf(method, name !== undefined, query),
    group,
    resource,
    ...(subresource !== undefined && !isWatch && { subresource }),
    ...(namespace && { namespace }),
    ...(name !== undefined && { name }),
  };
}

function verbOf(method: string, isNamed: boolean, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isNamed) return 'get';
      return isSet(query, 'watch') ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return isNamed ? 'delete' : 'deletecollection';
    default:
      return '';
  }
}
