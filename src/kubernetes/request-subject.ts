/** What a request is about, in the few words that metrics may be labelled with. */
export interface RequestTarget {
  /** Kubernetes' verb: get, list, watch, create, update, patch, delete or deletecollection. */
  readonly verb: string;
  /** The resource with its subresource, like `leases` or `leases/status`; the path itself for what is no resource. */
  readonly resource: string;
}

/** Query parameters; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Tells verb and resource from method, path and query. Names and namespaces are not part of it. */
export function describeTarget(method: string, path: string, query: Query = {}): RequestTarget {
  const { resource, named } = parsePath(path);
  return { verb: verbOf(method, named, query), resource };
}

/** The path with its query, as it goes on the request line. */
export function pathWithQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

function verbOf(method: string, named: boolean, query: Query): string {
  switch (method) {
    case 'GET':
      if (named) return 'get';
      return query['watch'] === undefined || query['watch'] === false ? 'list' : 'watch';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'DELETE':
      return named ? 'delete' : 'deletecollection';
    default:
      return method.toLowerCase();
  }
}

/** /api/v1/... or /apis/group/version/..., then namespaces/NAMESPACE/, resource, name, subresource. */
function parsePath(path: string): { resource: string; named: boolean } {
  const segments = path.split('/').filter((segment) => segment !== '');
  const rest = segments.slice(segments[0] === 'api' ? 2 : 3);
  const isResource = (segments[0] === 'api' || segments[0] === 'apis') && rest.length > 0;
  if (!isResource) return { resource: path, named: true };
  const [resource = path, name, subresource] =
    rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return {
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    named: name !== undefined,
  };
}
