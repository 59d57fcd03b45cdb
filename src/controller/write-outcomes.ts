import type { LeaseKey } from '../coordination/lease-key.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import type { ElectionSettings } from '../election/model.ts';
import { hasDroppedFields, type WrittenLease } from '../election/notes.ts';
import * as election from '../election/record-action.ts';
import { backoffDelayMs } from '../support/backoff.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectionRecords } from './election-records.ts';

/** Records a decision, even if it writes nothing. */
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

/** Records an action before it is sent: the watch may show its effect before the answer. */
export const recordSending = inRecords((known, action: Action, settings: ElectionSettings, at: Instant) =>
  election.recordSending({ ...known, settings }, action, at),
);

/** Records that the server has carried out an action. */
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

/** Records that an action has failed, or may have failed. */
export const recordFailure = inRecords(election.recordFailure);

/** Records, after its failure, that the server has not carried out an action. */
export const recordRefusal = inRecords(election.recordRefusal);

/**
 * Applies a pure function of `election/` to the records of an action's Lease and candidate. Ignores answers that come after
 * the Lease was forgotten: the Lease then counts as written by others.
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

/** Identifies one write that has no answer yet. */
export interface AwaitedAnswer {
  readonly kind: 'answer';
}

/** Waits until the cache shows another version than the base of a write. */
interface AwaitedChange {
  readonly kind: 'change';
  readonly otherThan: string | undefined;
  readonly until: Instant;
}

/** After this time the watch counts as stalled, and outdated decisions are better than none. In ms. */
const EXPECTATION_MS = 10_000;

/**
 * Blocks writes to an object until the cache shows the result of the last one (rule 8). An object is a candidate, or a Lease
 * with all decisions about it.
 *
 * Every write is based on one resourceVersion. After a success or a conflict the object has another version, so the cache has
 * caught up as soon as it shows any other version.
 */
export class WriteExpectations {
  readonly #clock: Clock;
  readonly #records: ElectionRecords;
  readonly #expected = new WrittenObjects<AwaitedAnswer | AwaitedChange>();

  constructor(clock: Clock, records: ElectionRecords) {
    this.#clock = clock;
    this.#records = records;
  }

  /** Call this before a write is sent. */
  expectAnswer(key: LeaseKey, object: WrittenObject): AwaitedAnswer {
    const answer: AwaitedAnswer = { kind: 'answer' };
    this.#expected.set(key, object, answer);
    return answer;
  }

  /** Call this after a success or a conflict: the object has another version than the base of the write. */
  expectChange(
    key: LeaseKey,
    object: WrittenObject,
    answered: AwaitedAnswer,
    otherThan: string | undefined,
  ): void {
    if (this.#isOvertaken(key, object, answered)) return;
    this.#expected.set(key, object, { kind: 'change', otherThan, until: this.#clock.now() + EXPECTATION_MS });
  }

  /** Call this after a write whose result is unknown. */
  expectNothing(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer): void {
    if (!this.#isOvertaken(key, object, answered)) this.#expected.delete(key, object);
  }

  /**
   * Returns until when to wait for the result of the last write, unless the answer or the cache brings it before;
   * undefined: there is nothing to wait for.
   */
  waitUntil(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const expected = this.#expected.get(key, object);
    if (expected?.kind === 'answer') return Number.POSITIVE_INFINITY;
    if (expected === undefined || this.#clock.now() >= expected.until) return undefined;
    return this.#isCached(key, object, expected.otherThan) ? expected.until : undefined;
  }

  /**
   * Ends the wait for a change. Returns whether the cache still shows the outdated version: it has missed a change, for
   * example because etcd was restored from a backup, and may never show it.
   */
  giveUp(key: LeaseKey, object: WrittenObject): boolean {
    const expected = this.#expected.get(key, object);
    if (expected?.kind !== 'change') return false;
    this.#expected.delete(key, object);
    return this.#isCached(key, object, expected.otherThan);
  }

  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#expected.delete(key, object);
  }

  get size(): number {
    return this.#expected.size;
  }

  forget(key: LeaseKey): void {
    this.#expected.forget(key);
  }

  /** Whether the object waits for a later write: it may be deleted and created while a write is in flight. */
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

/** Backs off writes to an object that fail in a row. */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #failures = new WrittenObjects<{ readonly count: number; readonly retryAt: Instant }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the object may be written again; undefined: now. */
  retryAt(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const { retryAt } = this.#failures.get(key, object) ?? {};
    return retryAt !== undefined && retryAt > this.#clock.now() ? retryAt : undefined;
  }

  /** The first conflict causes no delay: races end with one. */
  failed(key: LeaseKey, object: WrittenObject, floorMs: number, isConflict: boolean): void {
    const count = (this.#failures.get(key, object)?.count ?? 0) + 1;
    const delayMs = backoffDelayMs(isConflict ? count - 1 : count, BACKOFF, this.#clock.random());
    this.#failures.set(key, object, { count, retryAt: this.#clock.now() + Math.max(floorMs, delayMs) });
  }

  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  succeeded(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  get size(): number {
    return this.#failures.size;
  }

  forget(key: LeaseKey): void {
    this.#failures.forget(key);
  }
}

/** The target of a write: the Lease or one of its candidates. */
export type WrittenObject =
  | { readonly kind: 'lease' }
  | { readonly kind: 'candidate'; readonly name: string; readonly uid: string };

/** Returns the target of an action. */
export function writtenBy(action: Action): WrittenObject {
  return isLeaseWrite(action) ? { kind: 'lease' } : { kind: 'candidate', name: action.name, uid: action.uid };
}

/** Map by target, until its Lease is forgotten. */
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

  get size(): number {
    return this.#byLease.values().reduce((total, byId) => total + byId.size, 0);
  }

  forget(key: LeaseKey): void {
    this.#byLease.delete(key);
  }
}

function idOf(object: WrittenObject): string | undefined {
  return object.kind === 'candidate' ? object.uid : undefined;
}
