import type { JsonObject } from '../../support/json.ts';
import { badRequest, conflict, notFound } from '../errors/api-error.ts';
import { recordUpdate } from '../ownership/ownership.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import { decodeBody } from './body.ts';
import { createOptions, updateOptions } from './parameters.ts';
import {
  asStored,
  changeBy,
  liveObject,
  type ObjectReply,
  type OperationsContext,
  type ResourceRequest,
  resourceOf,
  versionsOf,
  withMetadata,
} from './request.ts';
import { inNamespaceOf, storeNew, storeObject } from './store.ts';

/** Creates an object. @throws {ApiError} */
export function create(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const options = createOptions(request.query);
  const decoded = decodeBody(request, options.fieldValidation);
  const wiped = withMetadata(decoded, {
    uid: undefined,
    creationTimestamp: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    selfLink: undefined,
  });
  const given = withoutDuplicateOwners(inNamespaceOf(request, wiped), request);
  const owned = recordUpdate({
    live: undefined,
    next: asStored(request, given),
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, request.definition),
  });
  const stored = storeNew(context, request, owned, options.isDryRun);
  return {
    kind: 'object',
    code: 201,
    body: request.representation.show(request.version.fromHub(stored), request.version),
  };
}

/** Replaces an object, or creates it if its resource allows that. @throws {ApiError} */
export function update(context: OperationsContext, request: ResourceRequest): ObjectReply {
  const { definition, version, name = '' } = request;
  const options = updateOptions(request.query);
  const decoded = decodeBody(request, options.fieldValidation);
  const placed = inNamespaceOf(request, decoded);
  checkName(placed, name);
  const given = withoutDuplicateOwners(placed, request);
  const live = liveObject(context, request, name);
  if (live === undefined && !definition.createsOnUpdate) throw notFound(resourceOf(request), name);
  checkUid(request, given, live);
  const next = recordUpdate({
    live: live && version.fromHub(live.object),
    next: asStored(request, given, live),
    change: changeBy(context, request, options.fieldManager),
    versions: versionsOf(context, definition),
  });
  return storeObject(context, request, next, live, options.isDryRun);
}

/** @throws {ApiError} 400 if the name of the object differs from the name in the request. */
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

/** @throws {ApiError} 409 if the uid in the body differs from the uid of the object. */
function checkUid(request: ResourceRequest, given: ApiObject, live: StoredObject | undefined): void {
  const { uid = '' } = given.metadata;
  const found = live?.object.metadata.uid ?? '';
  if (uid === '' || uid === found) return;
  const problem = `the body has the uid ${uid}, and the object ${found || 'does not exist'}`;
  throw conflict(resourceOf(request), request.name ?? '', problem);
}

/** Removes duplicate owner references, with a warning. */
export function withoutDuplicateOwners(
  object: ApiObject,
  { warn }: Pick<ResourceRequest, 'warn'>,
): ApiObject {
  const references = object.metadata.ownerReferences ?? [];
  const seen = new Set<string>();
  const unique: JsonObject[] = [];
  const duplicates: JsonObject[] = [];
  for (const reference of references) {
    const known = seen.size;
    (seen.add(contentOf(reference)).size > known ? unique : duplicates).push(reference);
  }
  if (duplicates.length === 0) return object;
  const uids = duplicates.map(({ uid }) => String(uid)).join(', ');
  warn(`.metadata.ownerReferences contains duplicate entries, which were removed: ${uids}`);
  return withMetadata(object, { ownerReferences: unique });
}

/** Serializes a reference so that the order of its fields does not matter. */
function contentOf(reference: JsonObject): string {
  return JSON.stringify(Object.entries(reference).sort(([one], [other]) => (one < other ? -1 : 1)));
}
