import type { Clock } from '../../support/clock.ts';
import type { JsonObject } from '../../support/json.ts';
import type { User } from '../access/access.ts';
import { ApiError, badRequest, plainError, type Subject } from '../errors/api-error.ts';
import { apiVersionOf, type ResourceDefinition, type VersionDefinition } from '../kinds/definition.ts';
import { isPrintable } from '../kinds/validation.ts';
import type { Change } from '../ownership/managers.ts';
import type { Versions } from '../ownership/versions.ts';
import type { ApiObject } from '../schema/api-object.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import type { StreamSink } from '../watch/served-watch.ts';

export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  /** An update of `namespaces/NAME/finalize`. */
  | 'finalize'
  | 'patch'
  | 'delete'
  | 'deletecollection';

/** A request for a resource, authenticated and authorized, with its body read. */
export interface ResourceRequest {
  readonly verb: Verb;
  readonly definition: ResourceDefinition;
  readonly version: VersionDefinition;
  /** Undefined for all namespaces, and for a resource that is not namespaced. */
  readonly namespace: string | undefined;
  /** Undefined for the collection. */
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly user: User;
  /** Whether the user may create the object: an update or an apply creates a missing object. */
  readonly mayCreate: boolean;
  /** '' if absent. */
  readonly userAgent: string;
  /** Media type of the body, in lower case and without parameters; '' if absent. */
  readonly contentType: string;
  readonly body: Buffer;
  readonly representation: Representation;
  /** Adds a Warning header to the answer, also to an error. */
  warn(text: string): void;
}

/** The form of the answer, selected by the Accept header. */
export interface Representation {
  /** Identifies the representation in caches: `object`, `table/Metadata`, ... */
  readonly id: string;
  /** The form of later events of a watch. In a watch of tables, only the first event has the columns. */
  readonly following?: Representation;
  show(object: ApiObject, version: VersionDefinition): JsonObject;
  /** `metadata`: the metadata of the list. @throws {ApiError} for an invalid `includeObject` */
  listForm(metadata: JsonObject, definition: ResourceDefinition, version: VersionDefinition): ListForm;
}

/** The form of a list. The server writes a list object by object. */
export interface ListForm {
  /** The fields before the objects. */
  readonly head: JsonObject;
  readonly field: 'items' | 'rows';
  /** Takes an object in the version of the request. */
  show(object: ApiObject): JsonObject;
}

/** The result of an operation. Refusals are thrown as {@link ApiError}. */
export type Reply = ObjectReply | ListReply | StreamReply;

export interface ObjectReply {
  readonly kind: 'object';
  readonly code: number;
  /** The object in the requested representation. */
  readonly body: JsonObject;
}

/** The objects of a list at one revision. */
export interface ListReply {
  readonly kind: 'list';
  readonly form: Omit<ListForm, 'show'>;
  readonly objects: readonly StoredObject[];
  show(stored: StoredObject): JsonObject;
}

/** A watch: a stream of JSON lines. The client or the server can end it. */
export interface StreamReply {
  readonly kind: 'stream';
  /** Called once, after the head of the answer has been sent. */
  start(sink: StreamSink): void;
}

export interface OperationsContext {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly resources: readonly ResourceDefinition[];
}

const MAX_OBJECT_CHARACTERS = 64 * 1024;
const LONGEST_MANAGER = 128;

/** Names the resource of a request in errors. */
export function resourceOf({ definition }: Pick<ResourceRequest, 'definition'>): Subject {
  return { group: definition.group, name: definition.resource };
}

/** Names the kind of a stored object in validation errors, with the group of the stored form. */
export function storedKindOf({ apiVersion, kind }: ApiObject): Subject {
  const [group = '', version] = apiVersion.split('/');
  return { group: version === undefined ? '' : group, name: kind };
}

export function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function liveObject({ store }: OperationsContext, request: ResourceRequest, name: string) {
  return store.get(request.definition.storage, keyOf(request.namespace, name));
}

/** Returns the current time as the API writes it: RFC 3339 to the second. */
export function timestamp(clock: Clock): string {
  return `${new Date(Number(clock.wallTime() / 1000n)).toISOString().slice(0, 19)}Z`;
}

/**
 * Returns the author and time of a request's change. The manager is `fieldManager`, or the first part of the User-Agent.
 */
export function changeBy(context: OperationsContext, request: ResourceRequest, fieldManager: string): Change {
  const { subresource } = request.definition;
  return {
    manager: fieldManager || programOf(request.userAgent),
    time: timestamp(context.clock),
    ...(subresource && { subresource }),
  };
}

function programOf(userAgent: string): string {
  const [program = ''] = userAgent.split('/', 1);
  return [...program].filter(isPrintable).join('').slice(0, LONGEST_MANAGER);
}

/** Returns the object as it will be stored, but in the request's version. Ownership is recorded in this version. */
export function asStored({ version }: ResourceRequest, object: ApiObject, live?: StoredObject): ApiObject {
  return version.fromHub(version.toHub(object, live?.object));
}

/** @throws {ApiError} 413 if the object with its managedFields is too large. */
export function checkSize(object: ApiObject): void {
  const { length } = JSON.stringify(object);
  if (length <= MAX_OBJECT_CHARACTERS) return;
  const problem = `the object would have ${length} characters of JSON, and may have at most ${MAX_OBJECT_CHARACTERS}`;
  throw new ApiError(413, 'RequestEntityTooLarge', problem);
}

/** Returns all versions of a resource, in all of its groups. */
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

/** Copies an object with changed metadata. Removes undefined fields of metadata. */
export function withMetadata(object: ApiObject, changes: Readonly<Record<string, unknown>>): ApiObject {
  const metadata: Record<string, unknown> = { ...object.metadata, ...changes };
  for (const [field, value] of Object.entries(changes)) if (value === undefined) delete metadata[field];
  return { ...object, metadata: metadata as unknown as ApiObject['metadata'] };
}

/** Parses the resourceVersion of a list. '' and "0" become 0, which means any version. @throws {ApiError} 400 */
export function parseListVersion(text: string): number {
  const version = parse(text);
  if (version === undefined) {
    throw badRequest(`invalid resource version: ${invalidVersion(text)}`);
  }
  return version;
}

/** Parses the resourceVersion of a get or a watch. '' and "0" become 0, which means any version. @throws {ApiError} */
export function parseReadVersion(text: string): number {
  const version = parse(text);
  if (version === undefined) throw plainError(invalidVersion(text));
  return version;
}

/** Parses the resourceVersion of an object in a request. An absent value, '' and "0" become 0. @throws {ApiError} */
export function parseObjectVersion(text = ''): number {
  const version = parse(text);
  if (version === undefined)
    throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`);
  return version;
}

function parse(text: string): number | undefined {
  if (text === '') return 0;
  return /^\d{1,19}$/.test(text) ? Number(text) : undefined;
}

function invalidVersion(text: string): string {
  const quoted = JSON.stringify(text);
  return `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`;
}
