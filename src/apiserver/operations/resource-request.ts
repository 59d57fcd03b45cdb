import type { JsonObject } from '../../support/json.ts';
import type { User } from '../access/access.ts';
import type { ResourceDefinition, VersionDefinition } from '../kinds/definition.ts';
import type { ApiObject } from '../schema/api-object.ts';
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

/** A request for a resource: authenticated, authorized, its body read. */
export interface ResourceRequest {
  readonly verb: Verb;
  readonly definition: ResourceDefinition;
  readonly version: VersionDefinition;
  /** Undefined: every namespace, or a resource that is in none. */
  readonly namespace: string | undefined;
  /** Undefined for the collection. */
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  readonly user: User;
  /** Whether the user may create the object, as an update or an apply of an absent one does. */
  readonly mayCreate: boolean;
  /** '' when the client sent none. */
  readonly userAgent: string;
  /** Media type of the body, lower case, without parameters; '' when the client sent none. */
  readonly contentType: string;
  readonly body: Buffer;
  readonly representation: Representation;
  /** Has a Warning go along with the answer, whatever that will be, a refusal included. */
  warn(text: string): void;
}

/** How the answer is to be shown, by the Accept header. */
export interface Representation {
  /** Tells representations apart in caches: `object`, `table/v1/Metadata`, ... */
  readonly id: string;
  /** What the events of a watch after its first one are shown as, where that differs: tables name their columns once. */
  readonly following?: Representation;
  show(object: ApiObject, version: VersionDefinition): JsonObject;
  /** `metadata` is the list's own. @throws {ApiError} where lists are not shown so */
  listForm(metadata: JsonObject, definition: ResourceDefinition, version: VersionDefinition): ListForm;
}

/** How a list is shown, which is written object by object: it may be long. */
export interface ListForm {
  /** What comes before the objects. */
  readonly head: JsonObject;
  /** The field that has the objects. */
  readonly field: 'items' | 'rows';
  /** Takes an object in the version that was asked for. */
  show(object: ApiObject): JsonObject;
}

/** What an operation answers with. Refusals are thrown, as {@link ApiError}. */
export type Reply = ObjectReply | ListReply | StreamReply;

export interface ObjectReply {
  readonly kind: 'object';
  readonly code: number;
  /** Already as its representation shows it. */
  readonly body: JsonObject;
}

/** Objects as they were at one revision, whatever becomes of them while they are written. */
export interface ListReply {
  readonly kind: 'list';
  readonly form: Omit<ListForm, 'show'>;
  readonly objects: readonly StoredObject[];
  show(stored: StoredObject): JsonObject;
}

/** A watch: lines of JSON until either side ends it. */
export interface StreamReply {
  readonly kind: 'stream';
  /** Begins to write to `sink`; called once, after the head of the answer has been sent. */
  start(sink: StreamSink): void;
}
