import type { Attributes } from '../access/access.ts';
import { ApiError, badRequest, methodNotAllowed } from '../errors/api-error.ts';
import type { ResourceDefinition, VersionDefinition } from '../kinds/definition.ts';
import { booleanParameter } from '../operations/parameters.ts';
import type { Verb } from '../operations/request.ts';

/** A parsed request line. */
export interface RequestTarget {
  /** The decoded path of the URL. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** The input of authorization. */
  readonly attributes: Attributes;
  /** Undefined for a path outside the resource paths. */
  readonly resource: ResourcePath | undefined;
}

/** A path in the form of a resource path. The resource may not exist. */
export interface ResourcePath {
  /** '' for the core group. */
  readonly group: string;
  readonly version: string;
  /** '' for an empty segment, which means all namespaces. */
  readonly namespace: string | undefined;
  /** The resource, optionally a name, a subresource, and further segments. */
  readonly parts: readonly string[];
}

const NAMESPACE_SUBRESOURCES: readonly (string | undefined)[] = ['status', 'finalize'];

/** Parses a request line. Returns undefined if the path cannot be decoded. */
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

function decoded(path: string): string | undefined {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Parses `/api/v1/...` and `/apis/GROUP/VERSION/...`. */
function parseResourcePath(path: string): ResourcePath | undefined {
  const segments = withoutTrailingSlashes(path).replace(/^\//, '').split('/');
  const isCore = segments[0] === 'api';
  const group = isCore ? '' : (segments[1] ?? '');
  const [version, ...parts] = segments.slice(isCore ? 1 : 2);
  if ((!isCore && segments[0] !== 'apis') || version === undefined || parts.length === 0) return undefined;
  const hasNamespace =
    parts[0] === 'namespaces' && parts.length > 2 && !NAMESPACE_SUBRESOURCES.includes(parts[2]);
  return {
    group,
    version,
    namespace: hasNamespace ? parts[1] : undefined,
    parts: hasNamespace ? parts.slice(2) : parts,
  };
}

/** A regular expression would take quadratic time. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

function resourceAttributes(method: string, path: ResourcePath, query: URLSearchParams): Attributes {
  const { group, parts } = path;
  const [resource = '', name, subresource] = parts;
  // A request for a Namespace object is authorized in that namespace.
  const namespace = path.namespace ?? (resource === 'namespaces' ? name : undefined);
  return {
    kind: 'resource',
    verb: verbOf(method, name !== undefined, query),
    group,
    resource,
    ...(subresource !== undefined && { subresource }),
    ...(namespace && { namespace }),
    ...(name !== undefined && { name }),
  };
}

function verbOf(method: string, isNamed: boolean, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (isNamed) return 'get';
      return booleanParameter(query, 'watch') ? 'watch' : 'list';
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

/** A served resource and the verb of a request. */
export interface ResourceRoute {
  readonly verb: Verb;
  readonly definition: ResourceDefinition;
  readonly version: VersionDefinition;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Finds the resource of a path. */
interface Router {
  /** Whether the server has resources of this group. */
  hasGroup(group: string): boolean;
  /** @throws {ApiError} 404, 405, or 400 for an invalid name */
  route(method: string, path: ResourcePath, query: URLSearchParams): ResourceRoute;
}

interface Served {
  readonly definition: ResourceDefinition;
  readonly version: VersionDefinition;
}

export function createRouter(resources: readonly ResourceDefinition[]): Router {
  const served = new Map<string, Served>();
  for (const definition of resources) {
    for (const version of definition.versions) {
      served.set(keyOf(definition.group, version.version, definition.resource), { definition, version });
    }
  }
  const groups = new Set(resources.map(({ group }) => group));
  return {
    hasGroup: (group) => groups.has(group),
    route(method, path, query) {
      const [resource = '', name] = path.parts;
      const found = served.get(keyOf(path.group, path.version, resource));
      if (found === undefined || !isPlace(path, found.definition)) throw nothingThere();
      const verb = verbAt(method, path, found.definition, query);
      if (verb === undefined) throw methodNotAllowed();
      if (name !== undefined) checkName(name);
      return { ...found, verb, namespace: path.namespace || undefined, name };
    },
  };
}

/** 404 for an unknown path below a served group. */
export function nothingThere(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** Whether this resource can have a path with this namespace and name. */
function isPlace(path: ResourcePath, { isNamespaced }: ResourceDefinition): boolean {
  const { namespace, parts } = path;
  const [, name, ...beyond] = parts;
  if ((beyond.length > 0 && !isFinalize(path)) || name === '') return false;
  if (!isNamespaced) return namespace === undefined;
  // A list may include all namespaces. A single object needs its namespace.
  return name === undefined || Boolean(namespace);
}

/** `/api/v1/namespaces/NAME/finalize`: the only served subresource. */
function isFinalize({ group, parts: [resource, , subresource, ...beyond] }: ResourcePath): boolean {
  return group === '' && resource === 'namespaces' && subresource === 'finalize' && beyond.length === 0;
}

function verbAt(
  method: string,
  path: ResourcePath,
  { isNamespaced }: ResourceDefinition,
  query: URLSearchParams,
): Verb | undefined {
  const { namespace, parts } = path;
  if (isFinalize(path)) return method === 'PUT' ? 'finalize' : undefined;
  if (parts.length > 1) return objectVerbs[method];
  if (method === 'GET') return booleanParameter(query, 'watch') ? 'watch' : 'list';
  if (isNamespaced && !namespace) return undefined;
  if (method === 'POST') return 'create';
  // As in a cluster, namespaces cannot be deleted as a collection.
  return method === 'DELETE' && isNamespaced ? 'deletecollection' : undefined;
}

const objectVerbs: Readonly<Record<string, Verb>> = {
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

function checkName(name: string): void {
  const problem =
    name === '.' || name === '..' ? `may not be '${name}'` : name.includes('%') ? "may not contain '%'" : '';
  if (problem !== '') throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problem}`);
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}
