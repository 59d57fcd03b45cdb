import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectionRecords } from './election-records.ts';
import { type WrittenObject, WrittenObjects } from './written-objects.ts';

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
