import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Decision, Reason } from '../election/decision.ts';
import type { Lease } from '../election/model.ts';
import { surveyTenure } from '../election/view.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { DecisionObserver } from './controller-parts.ts';
import type { ElectionRecords } from './election-records.ts';
import type { OwnLock } from './lock/lock-record.ts';
import { SETTLED } from './renewal-only.ts';

interface LastDecision {
  readonly reason: Reason;
  /** When time alone changes the decision. */
  readonly nextAt: Instant | undefined;
  /** The same if the holder renews the Lease. */
  readonly steadyUntil: Instant;
}

/** Longest time between decisions about a settled Lease, in ms: priorities end by a wall clock, which may be set (rule 16). */
const LONGEST_REST_MS = 60_000;

/** Keeps the last decision about each Lease, and tells which changes need no new one. */
export class LastDecisions {
  readonly #records: ElectionRecords;
  readonly #clock: Clock;
  readonly #decisions = new Map<LeaseKey, LastDecision>();

  constructor(records: ElectionRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  get size(): number {
    return this.#decisions.size;
  }

  reasonOf(key: LeaseKey): Reason | undefined {
    return this.#decisions.get(key)?.reason;
  }

  /** Whether a renewal changes nothing: the Lease is held, and the next reconcile is scheduled before it expires. */
  isSettled(key: LeaseKey): boolean {
    return this.#waitsFor(key, (reason) => SETTLED.has(reason));
  }

  /** Whether a new candidate changes nothing yet: the first election of the Lease will include it (rule 6). */
  isSettling(key: LeaseKey): boolean {
    return this.#waitsFor(key, (reason) => reason === 'FirstElectionSettling');
  }

  /**
   * Returns until when the reconcile at `at` can wait; undefined if it cannot. It can if it only had to check whether the
   * holder is late, and the holder has renewed since.
   */
  postpone(key: LeaseKey, at: Instant): Instant | undefined {
    const decision = this.#decisions.get(key);
    if (decision?.nextAt !== at || decision.reason !== 'LeaderOptimal') return undefined;
    const nextAt = Math.min(decision.steadyUntil, this.#lateAt(key) ?? at);
    if (nextAt <= this.#clock.now()) return undefined;
    this.#decisions.set(key, { ...decision, nextAt });
    return nextAt;
  }

  /** Returns an observer that forwards to `observer` and keeps the decisions. */
  observing(observer: DecisionObserver): DecisionObserver {
    return {
      decided: (key, decision, input) => {
        this.#decisions.set(key, this.#summaryOf(decision));
        observer.decided(key, decision, input);
      },
      heldBack: (key) => observer.heldBack(key),
      written: (...args) => observer.written(...args),
      applied: (...args) => observer.applied(...args),
      forgotten: (key) => {
        this.#decisions.delete(key);
        observer.forgotten(key);
      },
    };
  }

  /** Whether the last decision has such a reason, and the time of the next one has not come. */
  #waitsFor(key: LeaseKey, isWanted: (reason: Reason) => boolean): boolean {
    const { reason, nextAt } = this.#decisions.get(key) ?? {};
    return reason !== undefined && nextAt !== undefined && isWanted(reason) && this.#clock.now() < nextAt;
  }

  #summaryOf({ reason, requeue, steadyUntil, actions }: Decision): LastDecision {
    // Actions change the Lease, which needs another decision.
    const restMs = actions.length === 0 ? LONGEST_REST_MS : 0;
    return {
      reason,
      nextAt: requeue.kind === 'at' ? requeue.time : undefined,
      steadyUntil: Math.min(steadyUntil, this.#clock.now() + restMs),
    };
  }

  /** When the holder is late; undefined while the Lease has no valid holder. */
  #lateAt(key: LeaseKey): Instant | undefined {
    const tenure = surveyTenure(this.#records.gatherHolder(key), this.#clock.now());
    return tenure.kind === 'held' ? tenure.lateAt : undefined;
  }
}

export interface TakeOverParts {
  readonly clock: Clock;
  /** The cached Lease. */
  readonly lease: (key: LeaseKey) => Lease | undefined;
  /** Whether one watch shows the lock and all coordinated Leases. */
  readonly isInOneWatch: (key: LeaseKey) => boolean;
  /** Now the process may decide. `mayHaveMissed`: Leases may have been created and deleted unseen. */
  readonly onEnd: (mayHaveMissed: boolean) => void;
}

/** Timeout of the wait for the watch, in ms. A working watch shows a write within milliseconds. */
const CAUGHT_UP_WITHIN_MS = 1000;
/** The holder of a Lease that was created and deleted before a list may lead for this long, in ms (rule 8). */
const RELISTED_LATELY_MS = 60_000;

/**
 * The cache of a new coordinator may lag. Once the watch shows the new coordinator's own lock, it has shown all writes of the
 * former coordinator (rule 8). Until then, for at most a second, the new coordinator decides nothing.
 */
export class TakeOver {
  readonly #parts: TakeOverParts;
  #awaited: OwnLock | undefined;
  #cancelTimer: (() => void) | undefined;
  #relistedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(parts: TakeOverParts) {
    this.#parts = parts;
  }

  /** Whether the process must not decide yet. */
  get isPending(): boolean {
    return this.#awaited !== undefined;
  }

  /** Leases were listed after a gap; Leases that were created and deleted in the gap remain unseen. */
  relisted(): void {
    this.#relistedAt = this.#parts.clock.now();
  }

  /** Call this when the process becomes the coordinator. */
  begin(own: OwnLock | undefined): void {
    const { clock, isInOneWatch } = this.#parts;
    if (!own || !isInOneWatch(own.key) || clock.now() < this.#relistedAt + RELISTED_LATELY_MS) {
      this.#end(true);
      return;
    }
    this.#cancelTimer?.();
    this.#awaited = own;
    this.#cancelTimer = clock.setTimer(() => this.#end(true), CAUGHT_UP_WITHIN_MS);
    this.see(own.key);
  }

  /** Call this when a Lease changes. */
  see(key: LeaseKey): void {
    const own = this.#awaited;
    if (own?.key !== key) return;
    const { holderIdentity, renewTime } = this.#parts.lease(key) ?? {};
    const isShown = holderIdentity === own.holder && renewTime !== undefined && renewTime >= own.renewTime;
    if (isShown) this.#end(this.#parts.clock.now() < this.#relistedAt + RELISTED_LATELY_MS);
  }

  #end(mayHaveMissed: boolean): void {
    this.#cancelTimer?.();
    this.#awaited = undefined;
    this.#parts.onEnd(mayHaveMissed);
  }
}

/** Cost of a decision in ms for each candidate: many times the time that it takes. */
const COST_PER_CANDIDATE_MS = 0.1;
/** A decision with fewer candidates costs as much. */
const MIN_CANDIDATES = 10;
/** Unused budget, in ms, enough for a hundred decisions when a large component starts. */
const BURST_MS = 1000;

/**
 * Limits how often each Lease is decided on. A client that changes a candidate a thousand times a second must not keep the
 * coordinator busy: no Lease gets more than a few hundredths of its time.
 */
export class DecisionBudget {
  readonly #clock: Pick<Clock, 'now'>;
  /** Until when the decisions of each Lease have spent its budget. */
  readonly #spentUntil = new Map<LeaseKey, Instant>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** When the Lease may be decided on; undefined: now. */
  opensAt(key: LeaseKey): Instant | undefined {
    const at = (this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY) - BURST_MS;
    return at > this.#clock.now() ? at : undefined;
  }

  spend(key: LeaseKey, candidates: number): void {
    const costMs = Math.max(MIN_CANDIDATES, candidates) * COST_PER_CANDIDATE_MS;
    const spentUntil = this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY;
    this.#spentUntil.set(key, Math.max(spentUntil, this.#clock.now()) + Math.min(costMs, BURST_MS));
  }

  forget(key: LeaseKey): void {
    this.#spentUntil.delete(key);
  }

  get size(): number {
    return this.#spentUntil.size;
  }
}
