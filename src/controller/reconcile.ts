import type { LeaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import { earliest, type LeaseCandidate } from '../election/model.ts';
import { observeUnseen } from '../election/observe-lease.ts';
import type { ElectionInput } from '../election/view.ts';
import type { Instant } from '../support/clock.ts';
import { DecisionBudget } from './decision-timing.ts';
import { unledSince } from './elections-survey.ts';
import { type Urgency, urgencyOf } from './queue/order-and-limit.ts';
import { WriteQueue, type WriteQueueObserver } from './queue/write-queue.ts';
import { Sender, type SenderParts } from './sender.ts';
import {
  recordDecision,
  WriteBackoff,
  WriteExpectations,
  type WrittenObject,
  writtenBy,
} from './write-outcomes.ts';

export interface ReconcilerParts
  extends Pick<SenderParts, 'clock' | 'settings' | 'records' | 'mayWrite' | 'observer'> {
  /** Undefined in a dry run, which decides and reports but writes nothing. */
  readonly writer: SenderParts['writer'] | undefined;
  /** Upper bound of writes in flight. */
  readonly maxInFlight: number;
  readonly writeQueueObserver?: WriteQueueObserver | undefined;
  /** Lists all Leases or all candidates again, because the cache differs from the server. */
  readonly relist: (kind: WrittenObject['kind']) => void;
  /** Requests another reconcile of the Lease, at once or at `at`. */
  readonly requeue: (key: LeaseKey, at?: Instant) => void;
}

/** A decision and its remaining actions. */
interface Plan {
  readonly decision: Decision;
  readonly input: ElectionInput;
  /** Most urgent first. */
  readonly actions: readonly Action[];
  /** On the monotonic clock; undefined: when something about the Lease changes. */
  readonly nextReconcileAt: Instant | undefined;
  readonly validUntil: Instant;
  readonly isReported: boolean;
}

/** A plan that waits longer for its turn is replaced by a new decision. In ms. */
const PLAN_VALID_MS = 250;
/**
 * Decisions about a Lease with many candidates are spaced, in ms for each further candidate. A decision takes less than a
 * microsecond for each candidate, so these decisions take at most a fiftieth of the time.
 */
const USUAL_CANDIDATES = 100;
const SPACING_PER_CANDIDATE_MS = 0.1;
/** The first election of a Lease yields to Leases that had a leader, for this time, in ms. */
const FIRST_ELECTION_MS = 10_000;
const LEASE: WrittenObject = { kind: 'lease' };

/**
 * Gathers, decides, applies. A reconcile of a Lease makes a decision. Its writes wait for the Lease's turn (rule 9), and
 * are decided again if anything has changed by then.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #expectations: WriteExpectations;
  readonly #backoff: WriteBackoff;
  readonly #budget: DecisionBudget;
  readonly #sender: Sender | undefined;
  readonly writes: WriteQueue;
  readonly #plans = new Map<LeaseKey, Plan>();
  /** Of Leases with many candidates. */
  readonly #nextDecisionAt = new Map<LeaseKey, Instant>();
  readonly #blocked = new Set<LeaseKey>();

  constructor(parts: ReconcilerParts) {
    const { clock, records, maxInFlight, writer, writeQueueObserver } = parts;
    this.#parts = parts;
    this.#expectations = new WriteExpectations(clock, records);
    this.#backoff = new WriteBackoff(clock);
    this.#budget = new DecisionBudget(clock);
    this.writes = new WriteQueue({
      clock,
      maxInFlight,
      serve: (key, urgency, slots) => this.#serve(key, urgency, slots),
      observer: writeQueueObserver,
    });
    this.#sender =
      writer &&
      new Sender({
        ...parts,
        writer,
        writes: this.writes,
        expectations: this.#expectations,
        backoff: this.#backoff,
        onEnded: (key, object) => {
          if (object.kind === 'candidate' && !records.candidate(key, object.name, object.uid))
            this.#forgetObject(key, object);
          if (!this.writes.isWaiting(key)) parts.requeue(key);
        },
      });
  }

  /** Decides about one Lease and queues its writes. Returns when to reconcile again; undefined: after the next change. */
  reconcile(key: LeaseKey): Instant | undefined {
    if (this.forgetIfGone(key)) return undefined;
    const plan = this.#plan(key);
    if (typeof plan !== 'object') return plan;
    if (plan.actions.length > 0 && this.#sender) {
      this.#want(key, plan);
    } else {
      this.writes.drop(key);
      this.#plans.delete(key);
      this.#report(key, plan);
    }
    return plan.nextReconcileAt;
  }

  /** Forgets a Lease that is gone with all its candidates. Returns whether it is gone. */
  forgetIfGone(key: LeaseKey): boolean {
    const { records, observer } = this.#parts;
    if (records.lease(key) || records.hasCandidates(key)) return false;
    this.#expectations.forget(key);
    this.#backoff.forget(key);
    this.#budget.forget(key);
    this.#drop(key);
    observer.forgotten(key);
    return true;
  }

  /** Whether an action has to wait for the result of an earlier write. */
  isBlocked(key: LeaseKey): boolean {
    return this.#blocked.has(key);
  }

  /** Drops the plan of a Lease that has changed. */
  outdate(key: LeaseKey): void {
    this.#plans.delete(key);
  }

  /** Sizes of the collections that are kept beside the records. */
  get kept() {
    return {
      plans: this.#plans.size,
      expectations: this.#expectations.size,
      backoffs: this.#backoff.size,
      budgets: this.#budget.size,
    };
  }

  /** Forgets the writes to a candidate that is gone. */
  forgetCandidate(key: LeaseKey, { name, uid }: Pick<LeaseCandidate, 'name' | 'uid'>): void {
    this.#forgetObject(key, { kind: 'candidate', name, uid });
  }

  /** Sends nothing more; resolves when no write is in flight. */
  close(): Promise<void> {
    return this.writes.close();
  }

  #forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#expectations.forgetObject(key, object);
    this.#backoff.forgetObject(key, object);
  }

  #drop(key: LeaseKey): void {
    this.#plans.delete(key);
    this.#nextDecisionAt.delete(key);
    this.#blocked.delete(key);
    this.writes.drop(key);
  }

  /** Makes a plan, or returns when it may decide about the Lease. */
  #plan(key: LeaseKey): Plan | Instant | undefined {
    const { records, clock, mayWrite, observer } = this.#parts;
    const nextDecisionAt = this.#budget.opensAt(key) ?? this.#nextDecisionAt.get(key);
    if (nextDecisionAt !== undefined && clock.now() < nextDecisionAt) {
      observer.heldBack(key);
      return nextDecisionAt;
    }
    const closedUntil = mayWrite() ? this.#closedUntil(key, LEASE) : Number.POSITIVE_INFINITY;
    if (closedUntil !== undefined) {
      this.#drop(key);
      return reconcileTime(closedUntil);
    }
    this.#endWait(key, LEASE);
    const at = clock.now();
    const input = records.gather(key);
    this.#budget.spend(key, input.candidates.length);
    const spacingMs = Math.max(0, input.candidates.length - USUAL_CANDIDATES) * SPACING_PER_CANDIDATE_MS;
    if (spacingMs > 0) this.#nextDecisionAt.set(key, at + spacingMs);
    else this.#nextDecisionAt.delete(key);
    const decision = decideElection(input, { monotonic: at, wall: clock.wallTime() });
    const again = decision.requeue.kind === 'at' ? decision.requeue.time : undefined;
    const opensAt = decision.actions.map((action) => this.#closedUntil(key, writtenBy(action)));
    const actions = decision.actions.filter((_action, index) => opensAt[index] === undefined);
    for (const action of actions) this.#endWait(key, writtenBy(action));
    if (actions.length < decision.actions.length) this.#blocked.add(key);
    else this.#blocked.delete(key);
    const plan: Plan = {
      decision: { ...decision, actions },
      input,
      actions,
      nextReconcileAt: reconcileTime(earliest([again, ...opensAt])),
      validUntil: at + Math.max(PLAN_VALID_MS, spacingMs),
      isReported: false,
    };
    this.#plans.set(key, plan);
    return plan;
  }

  /** Until when the object must not be written, unless it changes before; undefined: it may be written now. */
  #closedUntil(key: LeaseKey, object: WrittenObject): Instant | undefined {
    return this.#backoff.retryAt(key, object) ?? this.#expectations.waitUntil(key, object);
  }

  /** Stops waiting for the result of the last write: the decision uses the cached object. */
  #endWait(key: LeaseKey, object: WrittenObject): void {
    if (!this.#expectations.giveUp(key, object)) return;
    const { records, relist, clock } = this.#parts;
    relist(object.kind);
    if (object.kind === 'candidate' || records.lease(key)) return;
    const now = { monotonic: clock.now(), wall: clock.wallTime() };
    records.updateMemory(key, (memory) => observeUnseen(memory, now));
  }

  #want(key: LeaseKey, plan: Plan): void {
    const [first] = plan.actions;
    if (!first) return;
    this.writes.want(key, urgencyOf(first, plan.decision), neededSince(plan, first, this.#parts.clock.now()));
  }

  /** Sends the most urgent actions of the Lease, at most `slots`. */
  #serve(key: LeaseKey, urgency: Urgency, slots: number): void {
    const plan = this.#validPlan(key);
    if (typeof plan !== 'object') {
      if (plan !== undefined) this.#parts.requeue(key, plan);
      return;
    }
    if (plan.nextReconcileAt !== undefined) this.#parts.requeue(key, plan.nextReconcileAt);
    const [first] = plan.actions;
    if (!first) {
      this.#plans.delete(key);
      this.#report(key, plan);
      return;
    }
    if (urgencyOf(first, plan.decision) !== urgency) {
      this.#want(key, plan);
      return;
    }
    this.#report(key, plan);
    const due = plan.actions.slice(0, slots).filter((action) => urgencyOf(action, plan.decision) === urgency);
    // After a write to the Lease, the other actions wait for its result.
    const actions = due.some(isLeaseWrite) ? [] : plan.actions.slice(due.length);
    const left = { ...plan, actions, isReported: true };
    if (actions.length > 0) this.#plans.set(key, left);
    else this.#plans.delete(key);
    for (const action of due) this.#sender?.send(key, action, plan.decision, plan.input);
    this.#want(key, left);
  }

  #validPlan(key: LeaseKey): Plan | Instant | undefined {
    const { clock, mayWrite } = this.#parts;
    const known = this.#plans.get(key);
    return known && clock.now() < known.validUntil && mayWrite() ? known : this.#plan(key);
  }

  #report(key: LeaseKey, { decision, input, isReported }: Plan): void {
    if (isReported) return;
    const { observer, records, clock } = this.#parts;
    observer.decided(key, decision, input);
    if (this.#sender) recordDecision(records, key, decision, clock.now());
  }
}

/** Infinity stands for an unknown end, as of a write in flight. The end then requests the reconcile. */
function reconcileTime(at: Instant | undefined): Instant | undefined {
  return at === Number.POSITIVE_INFINITY ? undefined : at;
}

/**
 * Returns since when an action has been needed. A Lease without leader has needed it since it lost its leader. A Lease that
 * never had a leader yields to those that had one, unless they lost it much later.
 */
function neededSince({ decision, input }: Plan, action: Action, now: Instant): Instant {
  // Candidates that were silent before are pinged last.
  if (action.kind === 'PingCandidate' && action.purpose === 'revival') return now + FIRST_ELECTION_MS;
  const isFirst = decision.tenure.kind === 'vacant';
  return unledSince(input, decision.tenure) ?? (isFirst ? now + FIRST_ELECTION_MS : now);
}
