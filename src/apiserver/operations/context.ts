import type { Clock } from '../../support/clock.ts';
import type { Subject } from '../errors/api-error.ts';
import { apiVersionOf, type ResourceDefinition, type VersionDefinition } from '../kinds/definition.ts';
import { isPrintable } from '../kinds/validation.ts';
import type { Change } from '../ownership/managers.ts';
import type { Versions } from '../ownership/versions.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import type { ResourceRequest } from './resource-request.ts';

/** What the operations work on. */
export interface OperationsContext {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly resources: readonly ResourceDefinition[];
}

const LONGEST_MANAGER = 128;
/** Of which the manager is made: what cannot be printed is left out. In characters. */
const LONGEST_AGENT = 4096;

/** The plural resource that a request is about, as errors name it. */
export function resourceOf({ definition }: Pick<ResourceRequest, 'definition'>): Subject {
  return { group: definition.group, name: definition.resource };
}

/** The kind of a stored object, as errors of validation name it: by the group of its stored form, whichever was asked for. */
export function storedKindOf({ apiVersion, kind }: ApiObject): Subject {
  const [group = '', version] = apiVersion.split('/');
  return { group: version === undefined ? '' : group, name: kind };
}

/** The key that an object is stored under. */
export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** The object that a request names, as it is stored. */
export function liveObject({ store }: OperationsContext, request: ResourceRequest, name: string) {
  return store.get(request.definition.storage, keyOf(request.namespace, name));
}

/** Now, as the API writes it: RFC 3339 to the second. */
export function timestamp(clock: Clock): string {
  return `${new Date(Number(clock.wallTime() / 1000n)).toISOString().slice(0, 19)}Z`;
}

/** Who makes a change: the field manager that was named, or else the program that the client says it is. */
export function changeBy(context: OperationsContext, request: ResourceRequest, fieldManager: string): Change {
  const { subresource } = request.definition;
  return {
    manager: fieldManager || programOf(request.userAgent),
    time: timestamp(context.clock),
    ...(subresource && { subresource }),
  };
}

function programOf(userAgent: string): string {
  let program = '';
  for (const character of userAgent.slice(0, LONGEST_AGENT).split('/', 1)[0] ?? '') {
    if (!isPrintable(character)) continue;
    if (Buffer.byteLength(program) + Buffer.byteLength(character) > LONGEST_MANAGER) break;
    program += character;
  }
  return program;
}

/** The object as it will be kept, defaults set, in its own version: so it is owned. */
export function settled({ version }: ResourceRequest, object: ApiObject, live?: StoredObject): ApiObject {
  return version.fromHub(version.toHub(object, live?.object));
}

/** All the forms that objects of this resource can be shown in, those of other groups included. */
export function versionsOf({ resources }: OperationsContext, definition: ResourceDefinition): Versions {
  const views = new Map<string, VersionDefinition>();
  for (const each of resources) {
    if (each.storage !== definition.storage) continue;
    for (const version of each.versions) views.set(apiVersionOf(each, version), version);
  }
  return {
    ...(definition.resetFields && { resetFields: definition.resetFields }),
    schema: (apiVersion) => views.get(apiVersion)?.schema,
    convert(object, apiVersion) {
      const from = views.get(object.apiVersion);
      const to = views.get(apiVersion);
      if (object.apiVersion === apiVersion || from === undefined || to === undefined) return object;
      return to.fromHub(from.toHub(object));
    },
  };
}

/** A copy of the object with other metadata. A field that is undefined is taken out. */
export function withMetadata(object: ApiObject, changes: Readonly<Record<string, unknown>>): ApiObject {
  const metadata: Record<string, unknown> = { ...object.metadata, ...changes };
  for (const [field, value] of Object.entries(changes)) if (value === undefined) delete metadata[field];
  return { ...object, metadata: metadata as unknown as ApiObject['metadata'] };
}
