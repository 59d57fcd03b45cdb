import { isDeepStrictEqual } from 'node:util';
import { conflict, invalidObject } from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { validateObject } from '../kinds/validation.ts';
import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { admitToNamespace } from './admission.ts';
import { checkSize, type OperationsContext, resourceOf, storedKindOf, withMetadata } from './context.ts';
import type { ResourceRequest } from './resource-request.ts';
import { parseObjectVersion } from './resource-version.ts';
import { inNamespaceOf } from './store-new.ts';

const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * Puts the next state of an existing object, in the request's version with its ownership recorded, into the store.
 * Returns its hub form. One that differs in nothing is not written; one whose last finalizer is gone is deleted.
 * @throws {ApiError} when it was decided on another state, or is not valid.
 */
export function storeUpdate(
  context: OperationsContext,
  request: ResourceRequest,
  next: ApiObject,
  live: StoredObject,
  isDryRun: boolean,
): ApiObject {
  const { definition, version } = request;
  admitToNamespace(context, request, 'update', live.object.metadata.name);
  checkResourceVersion(request, next, live);
  const hub = version.toHub(inNamespaceOf(request, next), live.object);
  const prepared = definition.prepareForUpdate(withServerFields(hub, live.object), live.object);
  const problems = validateObject(definition, prepared, live.object);
  if (problems.length > 0) throw invalidObject(storedKindOf(prepared), prepared.metadata.name, problems);

  const current = withOldTimes(
    withMetadata(prepared, { resourceVersion: String(live.revision) }),
    live.object,
  );
  if (isDeletionComplete(current, live.object) && !(definition.isHeld?.(current) ?? false)) {
    if (!isDryRun) context.store.remove(definition.storage, live.key);
    return current;
  }
  if (isDeepStrictEqual(current, live.object)) return live.object;
  checkSize(current);
  return isDryRun ? current : context.store.put(definition.storage, current).object;
}

function checkResourceVersion(request: ResourceRequest, next: ApiObject, live: StoredObject): void {
  const { name, resourceVersion } = next.metadata;
  const given = parseObjectVersion(resourceVersion);
  if (given === 0) {
    if (request.definition.updatesUnconditionally) return;
    const problem = invalid('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalidObject(resourceOf(request), name, [problem]);
  }
  if (given !== live.revision) throw conflict(resourceOf(request), name, MODIFIED);
}

/** What a client cannot change stays as it is; what it did not give and the server knows is filled in. */
function withServerFields(hub: ApiObject, { metadata: old }: ApiObject): ApiObject {
  const { metadata } = hub;
  return withMetadata(hub, {
    // It names this state, or none where that is allowed.
    resourceVersion: old.resourceVersion,
    generation: old.generation,
    uid: metadata.uid ?? old.uid,
    creationTimestamp: old.creationTimestamp ?? metadata.creationTimestamp,
    deletionTimestamp: old.deletionTimestamp ?? metadata.deletionTimestamp,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds,
  });
}

/** A write that changes nothing but the times of managedFields is none. */
function withOldTimes(next: ApiObject, old: ApiObject): ApiObject {
  const before = old.metadata.managedFields;
  const after = next.metadata.managedFields;
  if (before === undefined || after === undefined || before.length !== after.length) return next;
  const timeless = ({ time: _, ...entry }: ManagedFieldsEntry) => entry;
  const isSame = isDeepStrictEqual(
    { ...next, metadata: { ...next.metadata, managedFields: after.map(timeless) } },
    { ...old, metadata: { ...old.metadata, managedFields: before.map(timeless) } },
  );
  return isSame ? withMetadata(next, { managedFields: before }) : next;
}

function isDeletionComplete({ metadata }: ApiObject, { metadata: old }: ApiObject): boolean {
  const hasFinalizers = (metadata.finalizers ?? []).length > 0;
  return !hasFinalizers && old.deletionTimestamp !== undefined && !old.deletionGracePeriodSeconds;
}
