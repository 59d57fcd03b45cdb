import type { Attributes } from '../access/access.ts';
import { ApiError, forbiddenRequest, notFound } from '../errors/api-error.ts';
import { type OperationsContext, resourceOf } from './context.ts';
import type { ResourceRequest } from './resource-request.ts';

const NAMESPACES = { group: '', name: 'namespaces' };

/**
 * Lets nothing be created in a namespace that is absent or on its way out, and nothing be changed in one that is absent.
 * @throws {ApiError} 404 or 403.
 */
export function admitToNamespace(
  { store }: OperationsContext,
  request: ResourceRequest,
  operation: 'create' | 'update',
  name: string,
): void {
  const { namespace } = request;
  if (namespace === undefined) return;
  const found = store.get('namespaces', namespace);
  if (found === undefined) throw notFound(NAMESPACES, namespace);
  const status = found.object['status'] as { readonly phase?: string } | undefined;
  if (operation !== 'create' || status?.phase !== 'Terminating') return;
  const problem = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { status: refusal } = forbiddenRequest(resourceOf(request), name, problem);
  throw new ApiError(403, 'Forbidden', refusal.message ?? problem, {
    ...refusal.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}

/** What the access rules are asked before an update or an apply creates the object that it names. */
export function creationOf({
  definition,
  namespace,
  name,
}: Pick<ResourceRequest, 'definition' | 'namespace' | 'name'>): Attributes {
  return {
    kind: 'resource',
    verb: 'create',
    group: definition.group,
    resource: definition.resource,
    ...(namespace !== undefined && { namespace }),
    ...(name !== undefined && { name }),
  };
}
