import { randomUUID } from 'node:crypto';
import { forbidden } from '../access/access.ts';
import { ApiError, alreadyExists, badRequest, invalidObject, plainError } from '../errors/api-error.ts';
import { validateObject } from '../kinds/validation.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { admitToNamespace, creationOf } from './admission.ts';
import {
  keyOf,
  type OperationsContext,
  resourceOf,
  storedKindOf,
  timestamp,
  withMetadata,
} from './context.ts';
import { generateName } from './generate-name.ts';
import type { ResourceRequest } from './resource-request.ts';
import { parseObjectVersion } from './resource-version.ts';

/** How often another name is drawn when a generated one is taken. */
const NAME_ATTEMPTS = 8;

/**
 * Puts an object that does not exist yet, in the request's version with its ownership recorded, into the store.
 * Returns its hub form; one of a dry run has the resourceVersion that was given, if any.
 * @throws {ApiError} when it may not be created, is not valid, or exists already.
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
  // A create has been authorized before; an update or an apply of an absent object has not.
  if (!request.mayCreate) throw forbidden(request.user, creationOf(request));
  if (!isDryRun && /^\d+$/.test(resourceVersion ?? '') && Number(resourceVersion) !== 0) {
    throw plainError('resourceVersion should not be set on objects to be created');
  }
  const existing = context.store.get(definition.storage, keyOf(hub.metadata.namespace, name));
  if (existing !== undefined) throw taken(request, hub, existing.object);
  if (isDryRun) return hub;
  return context.store.put(definition.storage, withMetadata(hub, { resourceVersion: undefined })).object;
}

function taken(request: ResourceRequest, { metadata }: ApiObject, existing: ApiObject): ApiError {
  const { name, generateName: prefix } = metadata;
  const { message = '', details } = alreadyExists(resourceOf(request), name).status;
  const state = existing.metadata.deletionTimestamp === undefined ? '' : 'object is being deleted: ';
  if (prefix === undefined) return new ApiError(409, 'AlreadyExists', `${state}${message}`, details);
  return new ApiError(
    409,
    'AlreadyExists',
    `${state}${message}, the server was not able to generate a unique name for the object`,
    { ...details, retryAfterSeconds: 1 },
  );
}

/** The object in the namespace of the request. @throws {ApiError} 400 where it names another. */
export function inNamespaceOf({ namespace }: ResourceRequest, object: ApiObject): ApiObject {
  const given = object.metadata.namespace;
  if (given === namespace) return object;
  if (given !== undefined && given !== '' && namespace !== undefined) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return withMetadata(object, { namespace });
}

/**
 * Creating by PUT or by apply ignores the version that was given, as there is none yet; but a dry run shows it.
 * @throws {ApiError} where it is none.
 */
export function withoutVersion(object: ApiObject, isDryRun: boolean): ApiObject {
  parseObjectVersion(object.metadata.resourceVersion);
  return isDryRun ? object : withMetadata(object, { resourceVersion: undefined });
}
