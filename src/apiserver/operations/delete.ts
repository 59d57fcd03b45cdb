import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../support/json.ts';
import { conflict, notFound } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import {
  liveObject,
  type OperationsContext,
  resourceOf,
  storedKindOf,
  timestamp,
  withMetadata,
} from './context.ts';
import { deleteNamespace } from './delete-namespace.ts';
import { type DeleteOptions, deleteOptions, finalizersFor } from './delete-options.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';

/** Deletes the object that the request names, or marks it as being deleted where it has finalizers. @throws {ApiError} */
export function remove(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { definition, version, name = '', representation } = request;
  const options = deleteOptions(request);
  const live = liveObject(context, request, name);
  if (live === undefined) throw notFound(resourceOf(request), name);
  checkPreconditions(live.object, options);
  const show = (object: ApiObject) => representation.show(version.fromHub(object), version);
  if (definition.storage === 'namespaces') {
    return { kind: 'object', code: 200, body: show(deleteNamespace(context, request, live, options)) };
  }
  const marked = removeStored(context, definition.storage, live, options);
  if (marked === undefined) return { kind: 'object', code: 200, body: deleted(request, live.object) };
  // Asked in the outdated way, the server tells that the deletion is not complete.
  return { kind: 'object', code: options.orphanDependents === false ? 202 : 200, body: show(marked) };
}

/** Deletes an object for good, or returns it as it is now that it waits for its finalizers. */
export function removeStored(
  context: Pick<OperationsContext, 'store' | 'clock'>,
  storage: string,
  live: StoredObject,
  { isDryRun, propagation }: Pick<DeleteOptions, 'isDryRun' | 'propagation'>,
): ApiObject | undefined {
  const finalizers = finalizersFor(live.object, propagation);
  if (finalizers.length === 0) {
    if (!isDryRun) context.store.remove(storage, live.key);
    return undefined;
  }
  const { metadata } = live.object;
  const marked = withMetadata(live.object, {
    finalizers,
    deletionTimestamp: metadata.deletionTimestamp ?? timestamp(context.clock),
    deletionGracePeriodSeconds: 0,
    ...(metadata.deletionTimestamp === undefined &&
      metadata.generation !== undefined && { generation: metadata.generation + 1 }),
  });
  if (isDeepStrictEqual(marked, live.object)) return live.object;
  return isDryRun ? marked : context.store.put(storage, marked).object;
}

/** @throws {ApiError} 409 where the object is not the one, or not in the state, that the client means. */
export function checkPreconditions(object: ApiObject, { preconditions }: DeleteOptions): void {
  const { metadata } = object;
  const { uid, resourceVersion } = preconditions;
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      storedKindOf(object),
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      storedKindOf(object),
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

function deleted({ definition }: ResourceRequest, { metadata }: ApiObject): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: {
      name: metadata.name,
      ...(definition.group !== '' && { group: definition.group }),
      kind: definition.resource,
      uid: metadata.uid,
    },
  };
}
