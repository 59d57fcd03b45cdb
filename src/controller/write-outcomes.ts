import type { LeaseKey } from '../coordination/lease-key.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import { hasDroppedFields, type WrittenLease } from '../election/notes.ts';
import * as election from '../election/record-action.ts';
import type { ElectionInput } from '../election/view.ts';
import { backoffDelayMs } from '../support/backoff.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectionRecords } from './election-records.ts';

/** Records the effects of a decision on the memory of its Lease. Call this even if the decision has no actions. */
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

/** Records an action before it is sent, because the watch may show its effect before the answer. */
export const recordSending = inRecords(election.recordSending);

/** Records a successful action, or a ping that the server has permanently refused: such a ping counts as delivered. */
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

/** Records that the server has certainly not carried out a failed action. */
export const recordRefusal = inRecords(election.recordRefusal);

type Known = Pick<ElectionInput, 'memory' | 'candidates' | 'settings'>;

/**
 * Returns a function that applies `record` to the memory of a Lease and, if the action is a ping or a deletion, to the
 * observation of the candidate. If the records no longer contain the Lease, the function does nothing, and the
 * coordinator later treats this write as a write by another client.
 */
function inRecords<Rest extends readonly unknown[]>(
  record: (known: Known, action: Action, ...rest: Rest) => Known,
) {
  return (records: ElectionRecords, key: LeaseKey, action: Action, ...rest: Rest): void => {
    if (!records.has(key)) return;
    const observed = isLeaseWrite(action) ? undefined : records.observed(key, action.name, action.uid);
    const candidates = observed ? [observed] : [];
    records.updateMemory(key, (memory) => {
      const known = record({ memory, candidates, settings: records.settings }, action, ...rest);
      for (const { candidate, observation } of known.candidates) {
        records.updateObservation(key, candidate, () => observation);
      }
      return known.memory;
    });
  };
}

/** Stands for one write that has no answer yet. Compared by reference. */
export interface AwaitedAnswer {
  readonly kind: 'answer';
}

/** Whether, why and until when an object must not be written. */
interface Closed {
  readonly awaited:
    | AwaitedAnswer
    /** The gate waits while the cached resourceVersion is `baseVersion` (undefined: no object), at most until `until`. */
    | { readonly kind: 'change'; readonly baseVersion: string | undefined; readonly until: Instant }
    | undefined;
  readonly failures: number;
  readonly retryAt: Instant;
}

const OPEN: Closed = { awaited: undefined, failures: 0, retryAt: Number.NEGATIVE_INFINITY };
/** Maximum wait until the watch shows a write, in ms. After this time, decisions may rely on an outdated cache. */
const EXPECTATION_MS = 10_000;
const BACKOFF = { initialMs: 20, maxMs: 30_000 };

/**
 * Blocks writes to a Lease or candidate while a write is in flight, during the backoff after failures, and, for at most
 * {@link EXPECTATION_MS}, until the cache shows the last successful write (rule 8). A blocked Lease gets no
 * decisions. If a write changed the object, or failed with a conflict, the resourceVersion in the write is outdated.
 * The gate then waits until the cache no longer shows this resourceVersion.
 */
export class WriteGate {
  readonly #clock: Clock;
  readonly #records: ElectionRecords;
  /** By Lease, then by the uid of the candidate. Undefined stands for the Lease itself. */
  readonly #closed = new Map<LeaseKey, Map<string | undefined, Closed>>();

  constructor(clock: Clock, records: ElectionRecords) {
    this.#clock = clock;
    this.#records = records;
  }

  /** Number of objects that have an entry in the gate. Some of them may no longer be blocked. */
  get size(): number {
    return this.#closed.values().reduce((total, byUid) => total + byUid.size, 0);
  }

  /** Returns when to check again; Infinity while a write is in flight; undefined if the object may be written now. */
  closedUntil(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const { awaited, retryAt } = this.#of(key, object);
    if (retryAt > this.#clock.now()) return retryAt;
    if (awaited?.kind === 'answer') return Number.POSITIVE_INFINITY;
    if (awaited === undefined || this.#clock.now() >= awaited.until) return undefined;
    return this.#isCached(key, object, awaited.baseVersion) ? awaited.until : undefined;
  }

  expectAnswer(key: LeaseKey, object: WrittenObject): AwaitedAnswer {
    const awaited: AwaitedAnswer = { kind: 'answer' };
    this.#set(key, object, { awaited });
    return awaited;
  }

  /** Call this after a write that changed the object, or after a conflict: `baseVersion` is then outdated. */
  expectChange(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer, baseVersion?: string): void {
    if (this.#isOvertaken(key, object, answered)) return;
    const until = this.#clock.now() + EXPECTATION_MS;
    this.#set(key, object, { awaited: { kind: 'change', baseVersion, until } });
  }

  /** Call this after a write that the cache may never show: it failed without a conflict, or changed nothing. */
  expectNothing(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer): void {
    if (!this.#isOvertaken(key, object, answered)) this.#set(key, object, { awaited: undefined });
  }

  /** Ends the wait for a change. Returns whether the cache still lacks the change. If so, the watch may have missed it. */
  giveUp(key: LeaseKey, object: WrittenObject): boolean {
    const { awaited } = this.#of(key, object);
    if (awaited?.kind !== 'change') return false;
    this.#set(key, object, { awaited: undefined });
    return this.#isCached(key, object, awaited.baseVersion);
  }

  /**
   * Delays the next write by a backoff, and at least by `floorMs`. If the first failure is a conflict, it causes no
   * backoff: a race with another client usually causes only one conflict.
   */
  failed(key: LeaseKey, object: WrittenObject, floorMs: number, isConflict: boolean): void {
    const failures = this.#of(key, object).failures + 1;
    const delayMs = backoffDelayMs(isConflict ? failures - 1 : failures, BACKOFF, this.#clock.random());
    this.#set(key, object, { failures, retryAt: this.#clock.now() + Math.max(floorMs, delayMs) });
  }

  succeeded(key: LeaseKey, object: WrittenObject): void {
    const { failures, retryAt } = OPEN;
    this.#set(key, object, { failures, retryAt });
  }

  hasFailed(key: LeaseKey, object: WrittenObject): boolean {
    return this.#of(key, object).failures > 0;
  }

  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#set(key, object, OPEN);
  }

  forget(key: LeaseKey): void {
    this.#closed.delete(key);
  }

  #of(key: LeaseKey, object: WrittenObject): Closed {
    return this.#closed.get(key)?.get(object.uid) ?? OPEN;
  }

  #set(key: LeaseKey, object: WrittenObject, change: Partial<Closed>): void {
    const byUid = this.#closed.get(key) ?? new Map<string | undefined, Closed>();
    const closed = { ...this.#of(key, object), ...change };
    if (closed.awaited === undefined && closed.failures === 0) byUid.delete(object.uid);
    else byUid.set(object.uid, closed);
    if (byUid.size > 0) this.#closed.set(key, byUid);
    else this.#closed.delete(key);
  }

  /**
   * Whether the gate now waits for a later write than the answered one. This is possible if the scheduler forgot the
   * object during the answered write, and then wrote it again.
   */
  #isOvertaken(key: LeaseKey, object: WrittenObject, answered: AwaitedAnswer): boolean {
    const { awaited } = this.#of(key, object);
    return awaited !== undefined && awaited !== answered;
  }

  #isCached(key: LeaseKey, object: WrittenObject, resourceVersion: string | undefined): boolean {
    const records = this.#records;
    const cached =
      object.kind === 'lease'
        ? records.lease(key)
        : records.observed(key, object.name, object.uid)?.candidate;
    return cached?.resourceVersion === resourceVersion;
  }
}

export type WrittenObject =
  | { readonly kind: 'lease'; readonly uid?: undefined }
  | { readonly kind: 'candidate'; readonly name: string; readonly uid: string };

export function writtenBy(action: Action): WrittenObject {
  return isLeaseWrite(action) ? { kind: 'lease' } : { kind: 'candidate', name: action.name, uid: action.uid };
}
