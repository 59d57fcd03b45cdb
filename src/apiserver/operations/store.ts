import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../support/clock.ts';
import { type Attributes, forbidden } from '../access/access.ts';
import {
  ApiError,
  alreadyExists,
  badRequest,
  conflict,
  forbiddenRequest,
  invalidObject,
  notFound,
  plainError,
} from '../errors/api-error.ts';
import { invalid } from '../errors/field-error.ts';
import { validateObject } from '../kinds/validation.ts';
import type { ApiObject, ManagedFieldsEntry } from '../schema/api-object.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import {
  checkSize,
  keyOf,
  type ObjectReply,
  type OperationsContext,
  parseObjectVersion,
  type ResourceRequest,
  resourceOf,
  storedKindOf,
  timestamp,
  withMetadata,
} from './request.ts';

/** Creates the object or updates `live`, and returns the result. @throws {ApiError} */
export function storeObject(
  context: OperationsContext,
  request: ResourceRequest,
  next: ApiObject,
  live: StoredObject | undefined,
  isDryRun: boolean,
): ObjectReply {
  const { version, representation } = request;
  const stored =
    live === undefined
      ? storeNew(context, request, withoutVersion(next, isDryRun), isDryRun)
      : storeUpdate(context, request, next, live, isDryRun);
  return {
    kind: 'object',
    code: live === undefined ? 201 : 200,
    body: representation.show(version.fromHub(stored), version),
  };
}

/** Maximum attempts to generate an unused name. */
const NAME_ATTEMPTS = 8;

/**
 * Stores a new object. The object is in the request's version and has its managedFields already. Returns the hub form;
 * in a dry run, with the given resourceVersion.
 * @throws {ApiError} if the object is forbidden, invalid, or exists already.
 */
export function storeNew(
  context: OperationsContext,
  request: ResourceRequest,
  object: ApiObject,
  isDryRun: boolean,
): ApiObject {
  admitToNamespace(context, request, 'create', object.metadata.name ?? '');
  const { generateName: prefix = '', name = '' } = object.metadata;
  if (name !== '' || prefix === '') return storeNamed(context, request, object, isDryRun);
  for (let attempt = 1; ; attempt += 1) {
    const named = withMetadata(object, { name: generateName(prefix, context.clock) });
    try {
      return storeNamed(context, request, named, isDryRun);
    } catch (error) {
      const isTaken = error instanceof ApiError && error.status.reason === 'AlreadyExists';
      if (!isTaken || attempt === NAME_ATTEMPTS) throw error;
    }
  }
}

function storeNamed(
  context: OperationsContext,
  request: ResourceRequest,
  object: ApiObject,
  isDryRun: boolean,
): ApiObject {
  const { definition, version } = request;
  const { name, resourceVersion } = object.metadata;
  const initialized = withMetadata(inNamespaceOf(request, object), {
    uid: randomUUID(),
    creationTimestamp: timestamp(context.clock),
  });
  const hub = definition.prepareForCreate(version.toHub(initialized));
  const problems = validateObject(definition, hub);
  if (problems.length > 0) throw invalidObject(storedKindOf(hub), name ?? '', problems);
  // The authorization of an update or an apply does not cover the create.
  if (!request.mayCreate) throw forbidden(request.user, creationOf(request));
  if (!isDryRun && /^\d+$/.test(resourceVersion ?? '') && Number(resourceVersion) !== 0) {
    throw plainError('resourceVersion should not be set on objects to be created');
  }
  const existing = context.store.get(definition.storage, keyOf(hub.metadata.namespace, name));
  if (existing !== undefined) throw taken(request, hub, existing.object);
  checkSize(hub);
  if (isDryRun) return hub;
  return context.store.put(definition.storage, withMetadata(hub, { resourceVersion: undefined })).object;
}

function taken(request: ResourceRequest, { metadata }: ApiObject, existing: ApiObject): ApiError {
  const { message = '', details } = alreadyExists(resourceOf(request), metadata.name).status;
  const state = existing.metadata.deletionTimestamp === undefined ? '' : 'object is being deleted: ';
  const isGenerated = metadata.generateName !== undefined;
  const retry = { ...details, ...(isGenerated && { retryAfterSeconds: 1 }) };
  return new ApiError(409, 'AlreadyExists', `${state}${message}`, retry);
}

/** Returns the object with the namespace of the request. @throws {ApiError} 400 if the object has another namespace. */
export function inNamespaceOf({ namespace }: ResourceRequest, object: ApiObject): ApiObject {
  const given = object.metadata.namespace;
  if (given === namespace) return object;
  if (given !== undefined && given !== '' && namespace !== undefined) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return withMetadata(object, { namespace });
}

/** A create by PUT or apply ignores the given resourceVersion. A dry run returns it. @throws {ApiError} */
function withoutVersion(object: ApiObject, isDryRun: boolean): ApiObject {
  parseObjectVersion(object.metadata.resourceVersion);
  return isDryRun ? object : withMetadata(object, { resourceVersion: undefined });
}

const MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * Stores the next state of an object. The state is in the request's version and has its managedFields already. Returns
 * the hub form. Does not write an unchanged object. Removes an object that is being deleted when its last finalizer is
 * gone.
 * @throws {ApiError} for another resourceVersion or an invalid object.
 */
function storeUpdate(
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

/** Keeps the fields that clients cannot change, and sets missing server fields. */
function withServerFields(hub: ApiObject, { metadata: old }: ApiObject): ApiObject {
  const { metadata } = hub;
  return withMetadata(hub, {
    resourceVersion: old.resourceVersion,
    generation: old.generation,
    uid: metadata.uid ?? old.uid,
    creationTimestamp: old.creationTimestamp ?? metadata.creationTimestamp,
    deletionTimestamp: old.deletionTimestamp ?? metadata.deletionTimestamp,
    deletionGracePeriodSeconds: metadata.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds,
  });
}

/** Keeps the old times of managedFields if nothing else has changed. */
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

const NAMESPACES = { group: '', name: 'namespaces' };

/** Rejects a write in a missing namespace, and a create in a terminating one. @throws {ApiError} 404 or 403 */
function admitToNamespace(
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

/** The permission that an update or an apply needs if it creates the object. */
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

const LONGEST_NAME = 63;
const SUFFIX_LENGTH = 5;
/** Without vowels, so that names contain no words, as in kube-apiserver. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** Generates a name that begins with `prefix` and is at most as long as a DNS label. */
function generateName(prefix: string, clock: Clock): string {
  let name = Buffer.from(prefix)
    .subarray(0, LONGEST_NAME - SUFFIX_LENGTH)
    .toString();
  for (let count = 0; count < SUFFIX_LENGTH; count += 1) {
    name += LETTERS[Math.floor(clock.random() * LETTERS.length)];
  }
  return name;
}
