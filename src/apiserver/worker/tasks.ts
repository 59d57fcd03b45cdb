import type { JsonObject } from '../../support/json.ts';
import type { User } from '../access/access.ts';
import type { Status } from '../errors/api-error.ts';
import type { Verb } from '../operations/resource-request.ts';
import type { StoredObject } from '../storage/stored-objects.ts';
import type { ObjectText } from './object-text.ts';

/** Work that takes too long to be done where requests are answered; plain data, as it goes to another thread. */
export type Task = WriteTask | DeletionTask | ReviewTask | YamlTask;

/** What the parts of a request are called in a task. */
export interface RequestFacts {
  readonly verb: Verb;
  readonly group: string;
  readonly resource: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly query: string;
  readonly user: User;
  readonly mayCreate: boolean;
  readonly userAgent: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** An object of the store, as a task takes it along. */
export interface KeptObject {
  readonly storage: string;
  readonly stored: StoredObject;
}

/** To find out what a create, an update or a patch leads to. */
export interface WriteTask {
  readonly kind: 'write';
  readonly request: RequestFacts;
  /** All that it may look at. */
  readonly objects: readonly KeptObject[];
  readonly revision: number;
  readonly wallTime: bigint;
  /** Numbers to draw names by. */
  readonly chances: readonly number[];
}

/** To read how something is to be deleted. */
export interface DeletionTask {
  readonly kind: 'deletion';
  readonly request: RequestFacts;
}

/** To read the question of an access review. */
export interface ReviewTask {
  readonly kind: 'review';
  readonly group: string;
  readonly resource: string;
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** To write an answer in YAML. */
export interface YamlTask {
  readonly kind: 'yaml';
  readonly json: string;
}

/** What came of a task. */
export type Outcome = WriteOutcome | TextOutcome | QuestionOutcome | RefusedOutcome | FailedOutcome;

export interface WriteOutcome {
  readonly kind: 'write';
  readonly code: number;
  /** What is to become of the store. */
  readonly change: StoreChange;
  /** The object that is to be put, or else the one to answer with, in the version of the request. */
  readonly object: ObjectText;
  readonly warnings: readonly string[];
}

export type StoreChange =
  | { readonly kind: 'none' }
  | { readonly kind: 'put'; readonly key: string }
  | { readonly kind: 'remove'; readonly key: string };

/** A text: an answer, or how something is to be deleted, in JSON. */
export interface TextOutcome {
  readonly kind: 'text';
  readonly text: string;
}

export interface QuestionOutcome {
  readonly kind: 'question';
  readonly question: JsonObject;
}

export interface RefusedOutcome {
  readonly kind: 'refused';
  readonly status: Status & { readonly code: number };
  readonly warnings: readonly string[];
}

/** Something happened that never should. */
export interface FailedOutcome {
  readonly kind: 'failed';
  readonly error: string;
}
