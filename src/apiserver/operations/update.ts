import { badRequest, conflict, notFound } from '../errors/api-error.ts';
import { recordUpdate } from '../ownership/ownership.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { changeBy, liveObject, type OperationsContext, resourceOf, settled, versionsOf } from './context.ts';
import { decodeBody } from './object-body.ts';
import { warnOfDuplicateOwners, withoutDuplicateOwners } from './owner-references.ts';
import { updateOptions } from './parameters.ts';
import type { ObjectReply, ResourceRequest } from './resource-request.ts';
import { inNamespaceOf } from './store-new.ts';
import { storeObject } from './store-object.ts';

/** Replaces the object that the request names, or creates it where its resource allows that. @throws {ApiError} */
export function update(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { definition, version, name = '' } = request;
  const options = updateOptions(request.query);
  const decoded = decodeBody(context, request, options.fieldValidation);
  const placed = inNamespaceOf(request, decoded);
  checkName(placed, name);
  const { object: given, duplicates } = withoutDuplicateOwners(placed);
  warnOfDuplicateOwners(request, duplicates, false);
  const live = liveObject(context, request, name);
  if (live === undefined && !definition.createsOnUpdate) throw notFound(resourceOf(request), name);
  checkUid(request, given, live, options.isDryRun);
  const next = recordUpdate({
    live: live && version.fromHub(live.object),
    next: settled(request, given, live),
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, definition),
  });
  return storeObject(context, request, next, live, options.isDryRun);
}

/** @throws {ApiError} 400 where the object is not the one that the request names. */
export function checkName({ metadata }: ApiObject, name: string): void {
  const given = metadata.name ?? '';
  if (given === '') {
    throw badRequest(
      `the name of the object (${name} based on URL) was undeterminable: name must be provided`,
    );
  }
  if (given !== name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${name})`);
  }
}

/** A PUT that names a uid is meant for the object with that uid alone. */
function checkUid(
  request: ResourceRequest,
  given: ApiObject,
  live: StoredObject | undefined,
  isDryRun: boolean,
): void {
  const { uid = '' } = given.metadata;
  const found = live?.object.metadata.uid ?? '';
  if (uid === '' || uid === found) return;
  const { definition, namespace, name = '' } = request;
  // Where the real server would have it in etcd, which a dry run does not reach.
  const root = isDryRun ? '' : '/registry';
  const place = definition.isCustom ? `${definition.group}/${definition.resource}` : definition.resource;
  const key = [root, place, ...(namespace === undefined ? [] : [namespace]), name].join('/');
  throw conflict(
    resourceOf(request),
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
  );
}
