import { forbiddenRequest } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { type OperationsContext, resourceOf, timestamp, withMetadata } from './context.ts';
import { type DeleteOptions, finalizersFor } from './delete-options.ts';
import type { ResourceRequest } from './resource-request.ts';

/** Namespaces that clients count on. */
const IMMORTAL: readonly string[] = ['default', 'kube-system', 'kube-public'];

/** Marks a namespace as being deleted: it goes once everything in it has gone. @throws {ApiError} 403 */
export function deleteNamespace(
  context: OperationsContext,
  request: ResourceRequest,
  live: StoredObject,
  { isDryRun, propagation }: DeleteOptions,
): ApiObject {
  const { name, deletionTimestamp, generation } = live.object.metadata;
  if (IMMORTAL.includes(name)) {
    throw forbiddenRequest(resourceOf(request), name, 'this namespace may not be deleted');
  }
  if (deletionTimestamp !== undefined) return live.object;
  const finalizers = finalizersFor(live.object, propagation);
  const status = live.object['status'] as object | undefined;
  const marked: ApiObject = {
    ...withMetadata(live.object, {
      deletionTimestamp: timestamp(context.clock),
      ...(propagation !== undefined && { finalizers: finalizers.length > 0 ? finalizers : undefined }),
      ...(generation !== undefined && { generation: generation + 1 }),
    }),
    status: { ...status, phase: 'Terminating' },
  };
  return isDryRun ? marked : context.store.put('namespaces', marked).object;
}
