import { ApiError, badRequest } from '../errors/api-error.ts';
import type { ResourceDefinition, VersionDefinition } from '../kinds/definition.ts';
import type { Verb } from '../operations/resource-request.ts';
import { isSet, type ResourcePath } from './request-target.ts';

/** A resource that is served, and what is wanted of it. */
export interface ResourceRoute {
  readonly verb: Verb;
  readonly definition: ResourceDefinition;
  readonly version: VersionDefinition;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Finds what a path stands for. */
export interface Router {
  /** Whether anything is served under this group, in whatever version. */
  hasGroup(group: string): boolean;
  /** @throws {ApiError} 404, 405, or 400 for a name that none can have */
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
      if (path.isWatch) query.set('watch', 'true');
      if (verb === 'watch' && name !== undefined) selectOnly(name, query);
      return { ...found, verb, namespace: path.namespace || undefined, name };
    },
  };
}

/** 404 for a path below a group that is served, which stands for nothing. */
export function nothingThere(): ApiError {
  return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
}

/** 405 */
export function methodNotAllowed(): ApiError {
  const message = 'the server does not allow this method on the requested resource';
  return new ApiError(405, 'MethodNotAllowed', message, {});
}

/** Whether objects of this resource, or all of them, can be at this path. */
function isPlace(path: ResourcePath, { isNamespaced }: ResourceDefinition): boolean {
  const { namespace, parts } = path;
  const [, name, ...beyond] = parts;
  if ((beyond.length > 0 && !isFinalize(path)) || name === '') return false;
  if (!isNamespaced) return namespace === undefined;
  // One object has to be somewhere; lists may be of everywhere.
  return name === undefined || Boolean(namespace);
}

/** `/api/v1/namespaces/NAME/finalize`: the only subresource that is served. */
function isFinalize({ group, isWatch, parts: [resource, , subresource, ...beyond] }: ResourcePath): boolean {
  return (
    group === '' && resource === 'namespaces' && subresource === 'finalize' && beyond.length === 0 && !isWatch
  );
}

function verbAt(
  method: string,
  path: ResourcePath,
  { isNamespaced }: ResourceDefinition,
  query: URLSearchParams,
): Verb | undefined {
  const { isWatch, namespace, parts } = path;
  if (isWatch) return method === 'GET' ? 'watch' : undefined;
  if (isFinalize(path)) return method === 'PUT' ? 'finalize' : undefined;
  if (parts.length > 1) return objectVerbs[method];
  if (method === 'GET') return isSet(query, 'watch') ? 'watch' : 'list';
  if (isNamespaced && !namespace) return undefined;
  if (method === 'POST') return 'create';
  // A cluster's namespaces are never deleted all at once.
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

/** An outdated watch of one object is one of all those with its name. */
function selectOnly(name: string, query: URLSearchParams): void {
  const selector = query.get('fieldSelector');
  if (!selector) query.set('fieldSelector', `metadata.name=${name}`);
  else if (
    !selector.split(',').some((each) => /^metadata\.name==?/.test(each) && each.endsWith(`=${name}`))
  ) {
    throw badRequest("fieldSelector metadata.name doesn't match requested name");
  }
}

function keyOf(group: string, version: string, resource: string): string {
  return `${group}/${version}/${resource}`;
}
