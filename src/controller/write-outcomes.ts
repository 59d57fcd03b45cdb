import type { LeaseKey } from '../coordination/lease-key.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import type { ElectionSettings } from '../election/model.ts';
import { hasDroppedFields, type WrittenLease } from '../election/notes.ts';
import * as election from '../election/record-action.ts';
import { backoffDelayMs } from '../support/backoff.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectionRecords } from './election-records.ts';

/** Notes a decision that is acted upon, even if there is nothing to write. */
export function recordDecision(
  records: ElectionRecords,
  key: LeaseKey,
  decision: Decision,
  at: Instant,
): void {
  records.updateMemory(
    key,
    (memory) => election.recordDecision({ memory, candidates: [] }, decision, at).memory,
  );
}

/** Notes an action before it is sent: its effects may be seen before its answer. */
export const recordSending = inRecords((known, action: Action, settings: ElectionSettings, at: Instant) =>
  election.recordSending({ ...known, settings }, action, at),
);

/** Notes that the server has answered that an action is done. */
export function recordSuccess(
  records: ElectionRecords,
  key: LeaseKey,
  action: Action,
  sentAt: Instant,
  at: Instant,
  written?: WrittenLease,
): void {
  recordAnswer(records, key, action, sentAt, at, written?.after);
  const hasDropped = written && hasDroppedFields(action, written);
  if (hasDropped !== undefined) records.seeFieldsDropped(hasDropped);
}

const recordAnswer = inRecords(election.recordSuccess);

/** Notes that an action has failed, or may have failed. */
export const recordFailure = inRecords(election.recordFailure);

/** Notes, beside its failure, that an action is known not to have been carried out. */
export const recordRefusal = inRecords(election.recordRefusal);

/**
 * Has a function of the pure election change the records: it is given no more of them than the action is about. An answer that
 * comes after the Lease was forgotten changes nothing: should it have written the Lease, that is seen as written by others.
 */
function inRecords<Rest extends readonly unknown[]>(
  record: (known: election.Known, action: Action, ...rest: Rest) => election.Known,
) {
  return (records: ElectionRecords, key: LeaseKey, action: Action, ...rest: Rest): void => {
    if (!records.has(key)) return;
    const observed = isLeaseWrite(action) ? undefined : records.observed(key, action.name, action.uid);
    const candidates = observed ? [observed] : [];
    records.updateMemory(key, (memory) => {
      const known = record({ memory, candidates }, action, ...rest);
      for (const { candidate, observation } of known.candidates) {
        records.updateObservation(key, candidate, () => observation);
      }
      return known.memory;
    });
  };
}

/** The answer to a write. Each write has its own. */
export interface AwaitedAnswer {
  readonly kind: 'answer';
}

/** That the cache shows another version than the one that a write was decided on. */
interface AwaitedChange {
  readonly kind: 'change';
  readonly otherThan: string | undefined;
  readonly until: Instant;
}

/** If the watch has not shown a write by then it is stalled, and deciding on old news is better than not deciding. */
const EXPECTATION_MS = 10_000;

/**
 * Knows which objects must not be written again, as the cache is yet to show what came of their last write (rule 8): the
 * Lease, and with it all that is decided about it, or one candidate.
 *
 * Every write is based on one resourceVersion. Whether it succeeded or was refused as a conflict, the object is past
 * that version; so the cache has caught up as soon as it shows any other.
 */
export class WriteExpectations {
  readonly #clock: Clock;
  readonly #records: ElectionRecords;
  readonly #expected = new WrittenObjects<AwaitedAnswer | AwaitedChange>();

  constructor(clock: Clock, records: ElectionRecords) {
    this.#clock = clock;
    this.#records = records;
  }

  /** A write is about to be sent. */
  expectAnswer(key: LeaseKey, object: WrittenObject): AwaitedAnswer {
    const answer: AwaitedAnswer = { kind: 'answer' };
    this.#expected.set(key, object, answer);
    return answer;
  }

  /** The server has answered a write: what it was based on is past, whoever changed it. */
  expectChange(
    key: LeaseKey,
    object: WrittenObject,
    answered: AwaitedAnswer,
    otherThan: string | undefined,
  ): void {
    if (this.#isOvertaken(key, object, answered)) return;
    this.#expected.set(key, object, { kind: 'change', otherThan, until: this.#clock.now() + EXPECTATION_MS });
  }

  /** A write has ended, and nothing is known of what came of it. */
  expectNothing(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer): void {
    if (!this.#isOvertaken(key, object, answered)) this.#expected.delete(key, object);
  }

  /**
   * Until when to wait for what came of the last write, unless the cache catches up or the write is answered before;
   * undefined when there is nothing to wait for.
   */
  waitUntil(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const expected = this.#expected.get(key, object);
    if (expected?.kind === 'answer') return Number.POSITIVE_INFINITY;
    if (expected === undefined || this.#clock.now() >= expected.until) return undefined;
    return this.#isCached(key, object, expected.otherThan) ? expected.until : undefined;
  }

  /**
   * Ends the expectation of a change once there is nothing to wait for. Returns whether the cache goes on showing what
   * a write is known to have found outdated: it has missed something, as happens when etcd is restored from a backup,
   * and may go on missing it.
   */
  giveUp(key: LeaseKey, object: WrittenObject): boolean {
    const expected = this.#expected.get(key, object);
    if (expected?.kind !== 'change') return false;
    this.#expected.delete(key, object);
    return this.#isCached(key, object, expected.otherThan);
  }

  /** It is gone: what came of its writes matters no more. */
  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#expected.delete(key, object);
  }

  /** Of how many objects something is remembered. */
  get size(): number {
    return this.#expected.size;
  }

  /** There is nothing left to write about. */
  forget(key: LeaseKey): void {
    this.#expected.forget(key);
  }

  /** Whether something is expected of a later write: while one is on its way the object may go, and come back. */
  #isOvertaken(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer): boolean {
    const expected = this.#expected.get(key, object);
    return expected !== undefined && expected !== answered;
  }

  #isCached(key: LeaseKey, object: WrittenObject, resourceVersion: string | undefined): boolean {
    const cached =
      object.kind === 'lease'
        ? this.#records.lease(key)
        : this.#records.candidate(key, object.name, object.uid);
    return cached?.resourceVersion === resourceVersion;
  }
}

const BACKOFF = { initialMs: 20, maxMs: 30_000 };

/** Spaces out attempts to write one object that fail in a row. */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #failures = new WrittenObjects<{ readonly count: number; readonly retryAt: Instant }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the object may be written again; undefined when it may be right now. */
  retryAt(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const { retryAt } = this.#failures.get(key, object) ?? {};
    return retryAt !== undefined && retryAt > this.#clock.now() ? retryAt : undefined;
  }

  /** A write did not succeed. The first conflict costs nothing: it is how races end. */
  failed(key: LeaseKey, object: WrittenObject, floorMs: number, isConflict: boolean): void {
    const count = (this.#failures.get(key, object)?.count ?? 0) + 1;
    const delayMs = backoffDelayMs(isConflict ? count - 1 : count, BACKOFF, this.#clock.random());
    this.#failures.set(key, object, { count, retryAt: this.#clock.now() + Math.max(floorMs, delayMs) });
  }

  /** The object is gone. */
  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  /** A write succeeded: the next failure is the first one again. */
  succeeded(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  /** Of how many objects something is remembered. */
  get size(): number {
    return this.#failures.size;
  }

  /** There is nothing left to write about. */
  forget(key: LeaseKey): void {
    this.#failures.forget(key);
  }
}

/** An object that was written, or that a write to was refused for: the Lease itself, or one of its candidates. */
export type WrittenObject =
  | { readonly kind: 'lease' }
  | { readonly kind: 'candidate'; readonly name: string; readonly uid: string };

/** What an action writes. */
export function writtenBy(action: Action): WrittenObject {
  return isLeaseWrite(action) ? { kind: 'lease' } : { kind: 'candidate', name: action.name, uid: action.uid };
}

/** Something about each object that was written, until its Lease is forgotten. */
export class WrittenObjects<T> {
  readonly #byLease = new Map<LeaseKey, Map<string | undefined, T>>();

  get(key: LeaseKey, object: WrittenObject): T | undefined {
    return this.#byLease.get(key)?.get(idOf(object));
  }

  set(key: LeaseKey, object: WrittenObject, value: T): void {
    const byId = this.#byLease.get(key) ?? new Map<string | undefined, T>();
    this.#byLease.set(key, byId.set(idOf(object), value));
  }

  delete(key: LeaseKey, object: WrittenObject): void {
    const byId = this.#byLease.get(key);
    if (byId?.delete(idOf(object)) && byId.size === 0) this.#byLease.delete(key);
  }

  /** About how many objects there is something. */
  get size(): number {
    return this.#byLease.values().reduce((total, byId) => total + byId.size, 0);
  }

  forget(key: LeaseKey): void {
    this.#byLease.delete(key);
  }
}

/** The uid of a candidate; undefined for the Lease itself. */
function idOf(object: WrittenObject): string | undefined {
  return object.kind === 'candidate' ? object.uid : undefined;
}
