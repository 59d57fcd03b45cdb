import type { LeaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import { earliest, type LeaseCandidate } from '../election/model.ts';
import { observeUnseen } from '../election/observe-lease.ts';
import type { ElectionInput } from '../election/view.ts';
import type { Clock, Instant } from '../support/clock.ts';
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

/** What a {@link Reconciler} works with. */
export interface ReconcilerParts
  extends Pick<SenderParts, 'clock' | 'settings' | 'records' | 'mayWrite' | 'observer'> {
  /** Undefined in a dry run: decisions are made and reported, nothing is written. */
  readonly writer: SenderParts['writer'] | undefined;
  /** How many requests may ever be under way at once. */
  readonly mostRequests: number;
  readonly writeQueueObserver?: WriteQueueObserver | undefined;
  /** Lists anew all Leases, or all candidates: what is cached of them is not in step with the server. */
  readonly relist: (kind: WrittenObject['kind']) => void;
  /** Requests another reconcile of the Lease, at once or at `at`. */
  readonly requeue: (key: LeaseKey, at?: Instant) => void;
}

/** A decision, and what of it is still to be done. */
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

/** What waited longer than this for its turn is decided anew, whether anything has been seen to change or not. */
const PLAN_VALID_MS = 250;
/**
 * A decision takes less than a microsecond for each candidate. Those about a crowd come further apart, in milliseconds for
 * each candidate beyond what is usual, so that they never take more than a fiftieth of the time from other Leases.
 */
const USUAL_CANDIDATES = 100;
const SPACING_PER_CANDIDATE_MS = 0.1;
/** So much later the first election of a Lease counts as needed, in milliseconds: nobody misses its leader yet. */
const FIRST_ELECTION_MS = 10_000;
const LEASE: WrittenObject = { kind: 'lease' };

/**
 * Gather, decide, apply: brings one Lease after the other a step on. A look decides what is to be done; doing it waits
 * for the Lease's turn (rule 9), when it is decided anew if anything has changed.
 */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #expectations: WriteExpectations;
  readonly #backoff: WriteBackoff;
  readonly #budget: DecisionBudget;
  readonly #sender: Sender | undefined;
  readonly writes: WriteQueue;
  readonly #plans = new Map<LeaseKey, Plan>();
  /** Of Leases with a crowd of candidates. */
  readonly #nextDecisionAt = new Map<LeaseKey, Instant>();
  readonly #blocked = new Set<LeaseKey>();

  constructor(parts: ReconcilerParts) {
    const { clock, records, mostRequests, writer, writeQueueObserver } = parts;
    this.#parts = parts;
    this.#expectations = new WriteExpectations(clock, records);
    this.#backoff = new WriteBackoff(clock);
    this.#budget = new DecisionBudget(clock);
    this.writes = new WriteQueue({
      clock,
      most: mostRequests,
      serve: (key, urgency, seats) => this.#serve(key, urgency, seats),
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

  /** Decides on one Lease; what there is to do about it waits for its turn. */
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

  /** Forgets what is kept of a Lease that is gone with all its candidates. Returns whether it is. */
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

  /** Whether there is something to be done that has to wait until the cache shows what came of an earlier write. */
  isBlocked(key: LeaseKey): boolean {
    return this.#blocked.has(key);
  }

  /** Something about the Lease was seen to change: what was decided on it has to be decided anew. */
  outdate(key: LeaseKey): void {
    this.#plans.delete(key);
  }

  /** How much is kept beside the records; bounded by what exists. */
  get kept() {
    return {
      plans: this.#plans.size,
      expectations: this.#expectations.size,
      backoffs: this.#backoff.size,
      budgets: this.#budget.size,
    };
  }

  /** A candidate is gone: what came of writes to it matters no more. */
  forgetCandidate(key: LeaseKey, { name, uid }: Pick<LeaseCandidate, 'name' | 'uid'>): void {
    this.#forgetObject(key, { kind: 'candidate', name, uid });
  }

  /** Sends nothing any more; resolves when nothing is under way any more. */
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

  /** What to do about the Lease, or until when there is nothing to be decided. */
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

  /** Until when the object must not be written, unless there is news of it before; undefined when it may be right now. */
  #closedUntil(key: LeaseKey, object: WrittenObject): Instant | undefined {
    return this.#backoff.retryAt(key, object) ?? this.#expectations.waitUntil(key, object);
  }

  /** The object is decided on as it is cached, whatever came of the last write. */
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

  /** The Lease's turn has come: does as much of what is most urgent as there are seats for. */
  #serve(key: LeaseKey, urgency: Urgency, seats: number): void {
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
    const due = plan.actions.slice(0, seats).filter((action) => urgencyOf(action, plan.decision) === urgency);
    // What else was decided has to wait until it is known what a write to the Lease has come to.
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

/** What has no known end, as a write that is under way or a lock of others, asks for the next look once it is over. */
function reconcileTime(at: Instant | undefined): Instant | undefined {
  return at === Number.POSITIVE_INFINITY ? undefined : at;
}

/**
 * Since when an action has been needed: what a Lease without leader needs, since it has had none. One that nobody has led
 * yet stands behind those that were led before, unless they come much later.
 */
function neededSince({ decision, input }: Plan, action: Action, now: Instant): Instant {
  // Those who were silent before are asked after all those who may be waited for.
  if (action.kind === 'PingCandidate' && action.purpose === 'revival') return now + FIRST_ELECTION_MS;
  const isFirst = decision.tenure.kind === 'vacant';
  return unledSince(input, decision.tenure) ?? (isFirst ? now + FIRST_ELECTION_MS : now);
}

/** What a decision costs of the time that a Lease is given, in milliseconds for each candidate: many times what it takes. */
const COST_PER_CANDIDATE_MS = 0.1;
/** As if there were so many at least: not all of a decision is about candidates. */
const FEWEST_CANDIDATES = 10;
/** So much may be spent ahead, in milliseconds: a whole component that starts at once is decided on a hundred times. */
const BURST_MS = 1000;

/**
 * How often each Lease may be decided on. Whoever may change a candidate a thousand times a second must not make the
 * coordinator decide so often: no Lease gets more than a few hundredths of its time.
 */
export class DecisionBudget {
  readonly #clock: Pick<Clock, 'now'>;
  /** By Lease, until when its decisions have used up the time that it is given. */
  readonly #spentUntil = new Map<LeaseKey, Instant>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** When the Lease may be decided on again; undefined when it may be right now. */
  opensAt(key: LeaseKey): Instant | undefined {
    const at = (this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY) - BURST_MS;
    return at > this.#clock.now() ? at : undefined;
  }

  /** A decision was made on so many candidates. */
  spend(key: LeaseKey, candidates: number): void {
    const costMs = Math.max(FEWEST_CANDIDATES, candidates) * COST_PER_CANDIDATE_MS;
    const spentUntil = this.#spentUntil.get(key) ?? Number.NEGATIVE_INFINITY;
    this.#spentUntil.set(key, Math.max(spentUntil, this.#clock.now()) + Math.min(costMs, BURST_MS));
  }

  /** There is nothing left to decide on. */
  forget(key: LeaseKey): void {
    this.#spentUntil.delete(key);
  }

  /** Of how many Leases something is remembered. */
  get size(): number {
    return this.#spentUntil.size;
  }
}
