import type { LeaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import { type Action, type Decision, isLeaseWrite, type Reason } from '../election/decision.ts';
import { earliest, type LeaseCandidate } from '../election/model.ts';
import { type ElectionInput, surveyTenure } from '../election/view.ts';
import { backoffDelayMs } from '../support/backoff.ts';
import type { Instant } from '../support/clock.ts';
import { DueKeys } from '../support/due-keys.ts';
import { EventLoopShare } from '../support/event-loop.ts';
import { unledSince } from './elections-survey.ts';
import { RequestRoom, urgencyOf } from './order-and-limit.ts';
import { SETTLED } from './renewal-only.ts';
import { type SenderParts, sendAction } from './sender.ts';
import { recordDecision, WriteGate, type WrittenObject, writtenBy } from './write-outcomes.ts';

export interface SchedulerParts extends Omit<SenderParts, 'gate' | 'write'> {
  /** Undefined in a dry run, which makes and reports decisions but writes nothing. */
  readonly write: SenderParts['write'] | undefined;
  readonly maxInFlight: number;
  /** Whether the cache is complete and recent enough to decide. If not, the Lease gets no decision until it is due again. */
  readonly isCached: (key: LeaseKey) => boolean;
  /** Lists all Leases or all candidates again, at most once a minute, because the cache may differ from the server. */
  readonly relist: (kind: WrittenObject['kind']) => void;
}

interface Entry {
  last: LastDecision | undefined;
  /** Set while an action waits for a free slot. */
  pending: Pending | undefined;
  /** When the Lease began to wait for a free slot, maybe several decisions ago. */
  waitsSince: Instant | undefined;
  /** The time at which the Lease has its full decision budget again. */
  spentUntil: Instant;
  /** Number of consecutive attempts to decide that threw an error. */
  failures: number;
}

interface LastDecision {
  readonly reason: Reason;
  /** The time of the next decision that the last one asks for; undefined if it waits only for a change. */
  readonly nextAt: Instant | undefined;
  /** Renewals by the holder postpone the next decision to this time at most. */
  readonly steadyUntil: Instant;
}

/**
 * A decision, and its actions that are not sent yet. The scheduler records a decision with actions when it sends the
 * first action: until then, a round of pings does not count as sent (rule 3).
 */
interface Pending {
  readonly decision: Decision;
  readonly input: ElectionInput;
  /** Most urgent first. */
  readonly actions: readonly Action[];
  /** After this time, the Lease needs a new decision. */
  readonly validUntil: Instant;
}

/** If the decision of a Lease is older than this when the Lease gets a slot, the scheduler decides again. In ms. */
const PENDING_VALID_MS = 250;
/**
 * A first election, or a round of pings to silent candidates, is queued as if it had begun to wait this much later, in
 * ms. So a Lease that has lost its leader usually comes first.
 */
const FIRST_ELECTION_MS = 10_000;
/** Renewals postpone a decision until this time after the last decision at most, in ms: a clock jump may end a priority. */
const LONGEST_REST_MS = 60_000;
const RETRY = { initialMs: 5, maxMs: 60_000 };

/**
 * The budget that a decision uses for each candidate, in ms: many times the real duration, so that a Lease with many
 * candidates or changes uses at most a few percent of the coordinator's time.
 */
const COST_PER_CANDIDATE_MS = 0.1;
/** A decision with fewer candidates costs as much as one with this number. */
const MIN_CANDIDATES = 10;
/** Maximum unused budget of a Lease, in ms: enough for a hundred decisions when a hundred candidates start together. */
const BURST_MS = 1000;

const LEASE: WrittenObject = { kind: 'lease' };

/**
 * Decides on Leases, one after the other, and sends the actions of the decisions. Usually, a Lease is due after a
 * change, after the answer to one of its writes, and at the time that its last decision gave. If no slot is free for an
 * action, because too many requests are in flight, the Lease waits. A slot that becomes free goes to the most urgent
 * waiting Lease that may use it (rule 9).
 */
export class Scheduler {
  readonly #parts: SchedulerParts;
  readonly #sender: SenderParts | undefined;
  readonly #gate: WriteGate;
  readonly room: RequestRoom;
  readonly #share: EventLoopShare;
  readonly #entries = new Map<LeaseKey, Entry>();
  readonly #due: DueKeys;
  #isRunning = false;
  #isClosed = false;
  /** Resolves when the scheduler is closed and no request is in flight. */
  readonly #idle = Promise.withResolvers<void>();

  constructor(parts: SchedulerParts) {
    const { clock, records, maxInFlight, write } = parts;
    this.#parts = parts;
    this.#gate = new WriteGate(clock, records);
    this.#sender = write && { ...parts, write, gate: this.#gate };
    this.room = new RequestRoom(clock, maxInFlight);
    this.#share = new EventLoopShare(clock);
    this.#due = new DueKeys({
      clock,
      onDue: () => void this.#run(),
      postpone: (key, at) => this.#postpone(key, at),
    });
  }

  get depth(): number {
    return this.#due.size;
  }

  get kept() {
    return { entries: this.#entries.size, closed: this.#gate.size };
  }

  /** Requests a decision about the Lease. */
  add(key: LeaseKey): void {
    if (!this.#isClosed) this.#due.add(key);
  }

  reasonOf(key: LeaseKey): Reason | undefined {
    return this.#entries.get(key)?.last?.reason;
  }

  /** Whether most renewals need no decision before the next scheduled one (see {@link SETTLED}). */
  isSettled(key: LeaseKey): boolean {
    return this.#waitsFor(key, (reason) => SETTLED.has(reason));
  }

  /** Whether a new candidate needs no decision: the coming first election will include the candidate (rule 6). */
  isSettling(key: LeaseKey): boolean {
    return this.#waitsFor(key, (reason) => reason === 'FirstElectionSettling');
  }

  /** Forgets a Lease if it and all its candidates are gone. Returns whether they are gone. */
  forgetIfGone(key: LeaseKey): boolean {
    const { records, observe } = this.#parts;
    if (records.lease(key) || records.hasCandidates(key)) return false;
    // After a conflict, another client's Lease may exist that the watch has not shown.
    if (this.#gate.hasFailed(key, LEASE)) this.#endWait(key, LEASE);
    this.#gate.forget(key);
    this.#due.delete(key);
    const entry = this.#entries.get(key);
    if (entry) this.#dropPending(key, entry);
    // Keep the entry while a request is in flight. After the answer, this function runs again and can delete the entry.
    if (entry && this.room.inFlightOf(key) > 0) entry.last = undefined;
    else this.#entries.delete(key);
    observe({ type: 'forgotten', key });
    return true;
  }

  forgetCandidateIfGone(key: LeaseKey, { name, uid }: Pick<LeaseCandidate, 'name' | 'uid'>): void {
    if (this.#parts.records.observed(key, name, uid)) return;
    this.#gate.forgetObject(key, { kind: 'candidate', name, uid });
  }

  /** Starts no more requests. Resolves when no request is in flight. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#due.clear();
    for (const [key, entry] of this.#entries) this.#dropPending(key, entry);
    if (this.room.inFlight === 0) this.#idle.resolve();
    return this.#idle.promise;
  }

  /**
   * Whether the Lease only waits for its next decision: this decision is scheduled for later, no action of the Lease
   * waits for a free slot, and `isWanted` accepts the reason of the last decision.
   */
  #waitsFor(key: LeaseKey, isWanted: (reason: Reason) => boolean): boolean {
    const { last, pending } = this.#entries.get(key) ?? {};
    if (last?.nextAt === undefined || pending) return false;
    return isWanted(last.reason) && this.#parts.clock.now() < last.nextAt;
  }

  /**
   * Returns a later time for the decision that is due at `at`; undefined if the decision cannot wait. It can wait if the
   * last reason was `LeaderOptimal`, the holder is not late, and `steadyUntil` has not passed (rule 9).
   */
  #postpone(key: LeaseKey, at: Instant): Instant | undefined {
    const entry = this.#entries.get(key);
    const last = entry?.last;
    if (!entry || last?.nextAt !== at || last.reason !== 'LeaderOptimal') return undefined;
    const { records, clock } = this.#parts;
    const tenure = surveyTenure(records.gatherHolder(key), clock.now());
    const nextAt = Math.min(last.steadyUntil, tenure.kind === 'held' ? tenure.lateAt : at);
    if (nextAt <= clock.now()) return undefined;
    entry.last = { ...last, nextAt };
    return nextAt;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Wait, so that one decision follows all events that arrived together.
    await Promise.resolve();
    const { clock, observe } = this.#parts;
    for (let next = this.#due.take(); next !== undefined; next = this.#due.take()) {
      const { key, waitedMs } = next;
      await this.#share.take(() => {
        const startedAt = clock.now();
        this.#process(key);
        observe({ type: 'processed', waitedMs, workMs: clock.now() - startedAt });
      });
    }
    this.#isRunning = false;
  }

  #process(key: LeaseKey, isTurn = false): void {
    if (this.forgetIfGone(key) || !this.#parts.isCached(key)) return;
    const entry = this.#entryOf(key);
    try {
      this.#decide(key, entry, isTurn);
      entry.failures = 0;
    } catch (error) {
      const { clock, observe } = this.#parts;
      observe({ type: 'decisionFailed', key, error });
      entry.failures++;
      this.#due.setDeadline(key, clock.now() + backoffDelayMs(entry.failures, RETRY, clock.random()));
    }
  }

  #entryOf(key: LeaseKey): Entry {
    let entry = this.#entries.get(key);
    if (!entry) {
      const spentUntil = Number.NEGATIVE_INFINITY;
      entry = { last: undefined, pending: undefined, waitsSince: undefined, spentUntil, failures: 0 };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  /**
   * Makes a decision, and sends its actions when slots are free. Omits actions on blocked candidates. Delays the
   * decision while the Lease has no budget left, or while writes to the Lease are blocked (see {@link WriteGate}).
   * Makes no decision while this replica must not write. `isTurn`: the Lease has the slot for which a dropped write
   * waited, so this decision does not wait for budget.
   */
  #decide(key: LeaseKey, entry: Entry, isTurn: boolean): void {
    const { clock, records, mayWrite, observe } = this.#parts;
    const now = clock.now();
    const opensAt = entry.spentUntil - BURST_MS;
    if (now < opensAt && !isTurn) {
      observe({ type: 'heldBack', key });
      // Drop an outdated write to the Lease, but keep the place in the queue for slots.
      if (entry.pending?.actions.some(isLeaseWrite)) entry.pending = undefined;
      this.#due.setDeadline(key, opensAt);
      return;
    }
    const closedUntil = mayWrite() ? this.#gate.closedUntil(key, LEASE) : Number.POSITIVE_INFINITY;
    if (closedUntil !== undefined) {
      this.#dropPending(key, entry);
      this.#due.setDeadline(key, finite(closedUntil));
      return;
    }
    this.#endWait(key, LEASE);
    const input = records.gather(key);
    const costMs = Math.max(MIN_CANDIDATES, input.candidates.length) * COST_PER_CANDIDATE_MS;
    entry.spentUntil = Math.max(entry.spentUntil, now) + costMs;
    const made = decideElection(input, { monotonic: now, wall: clock.wallTime() });
    const opening = made.actions.map((action) => this.#gate.closedUntil(key, writtenBy(action)));
    const actions = made.actions.filter((_action, index) => opening[index] === undefined);
    for (const action of actions) this.#endWait(key, writtenBy(action));
    const { reason, requeue } = made;
    const nextAt = requeue.kind === 'at' ? requeue.time : undefined;
    // Do not postpone the next decision if this decision has actions: the actions change the situation.
    const restMs = made.actions.length === 0 ? LONGEST_REST_MS : 0;
    entry.last = { reason, nextAt, steadyUntil: Math.min(made.steadyUntil, now + restMs) };
    this.#due.setDeadline(key, finite(earliest([nextAt, ...opening])));
    const decision = { ...made, actions };
    this.#act(key, entry, { decision, input, actions, validUntil: now + PENDING_VALID_MS });
  }

  /**
   * Ends the wait for the cached object to change after the last write. If it has not changed, lists the objects again:
   * the watch may have missed a change. If the object is a Lease that is not cached, assumes that its holder may lead.
   */
  #endWait(key: LeaseKey, object: WrittenObject): void {
    if (!this.#gate.giveUp(key, object)) return;
    const { records, relist, clock } = this.#parts;
    relist(object.kind);
    if (object.kind === 'candidate' || records.lease(key)) return;
    records.seeUnseen(key, { monotonic: clock.now(), wall: clock.wallTime() });
  }

  /** Sends the actions in order. If no slot is free, the rest waits. After a write to the Lease, drops the rest. */
  #act(key: LeaseKey, entry: Entry, pending: Pending): void {
    const { clock, observe } = this.#parts;
    const { decision, actions } = pending;
    if (actions.length === 0 || !this.#sender) {
      this.#dropPending(key, entry);
      this.#report(key, pending);
      return;
    }
    for (const [index, action] of actions.entries()) {
      const urgency = urgencyOf(action, decision);
      if (!this.room.isFree(key, urgency)) {
        this.#wait(key, entry, { ...pending, actions: actions.slice(index) }, action);
        return;
      }
      if (index === 0) {
        this.#report(key, pending);
        observe({ type: 'sending', urgency, waitedMs: clock.now() - (entry.waitsSince ?? clock.now()) });
        this.#dropPending(key, entry);
      }
      void this.#send(this.#sender, key, action, pending);
      // Drop the other actions: after the answer to this write, the scheduler decides again.
      if (isLeaseWrite(action)) return;
    }
  }

  /** Reports and records a decision, unless some of its actions are already sent. A dry run records nothing. */
  #report(key: LeaseKey, { decision, input, actions }: Pending): void {
    if (actions.length < decision.actions.length) return;
    const { observe, records, clock } = this.#parts;
    observe({ type: 'decided', key, decision, input });
    if (this.#sender) recordDecision(records, key, decision, clock.now());
  }

  /** Lets the actions wait for a free slot. `first` is the first of them. */
  #wait(key: LeaseKey, entry: Entry, pending: Pending, first: Action): void {
    const now = this.#parts.clock.now();
    entry.pending = pending;
    entry.waitsSince ??= now;
    this.room.wait(key, urgencyOf(first, pending.decision), neededSince(pending, first, now));
  }

  #dropPending(key: LeaseKey, entry: Entry): void {
    this.room.stopWaiting(key);
    entry.pending = undefined;
    entry.waitsSince = undefined;
  }

  /** Sends an action. Then gives free slots to waiting Leases, and makes `key` due unless `key` waits for a slot. */
  async #send(sender: SenderParts, key: LeaseKey, action: Action, pending: Pending): Promise<void> {
    const end = this.room.begin(key);
    end(await sendAction(sender, key, action, pending.decision, pending.input));
    if (!isLeaseWrite(action)) this.forgetCandidateIfGone(key, action);
    this.#giveRoom();
    if (!this.#entries.get(key)?.pending) this.add(key);
    if (this.#isClosed && this.room.inFlight === 0) this.#idle.resolve();
  }

  #giveRoom(): void {
    const { clock, mayWrite } = this.#parts;
    for (let key = this.room.next(); key !== undefined; key = this.room.next()) {
      const entry = this.#entryOf(key);
      const { pending } = entry;
      entry.pending = undefined;
      const isValid = pending && clock.now() < pending.validUntil && !this.#due.isDue(key);
      if (isValid && mayWrite()) this.#act(key, entry, pending);
      else this.#process(key, pending === undefined);
    }
  }
}

/** Returns undefined for Infinity, which means that no time is known: an event will make the Lease due. */
function finite(at: Instant | undefined): Instant | undefined {
  return at === Number.POSITIVE_INFINITY ? undefined : at;
}

/** Returns when the Lease lost its leader; `now` if it is held; a later time for a revival, or if no loss is known. */
function neededSince({ decision, input }: Pending, action: Action, now: Instant): Instant {
  // Pings to silent candidates can wait, because no election waits for their answers.
  if (action.kind === 'PingCandidate' && action.purpose === 'revival') return now + FIRST_ELECTION_MS;
  const isFirst = decision.tenure.kind === 'vacant';
  return unledSince(input, decision.tenure) ?? (isFirst ? now + FIRST_ELECTION_MS : now);
}
