import { unledSince } from '../controller/elections-survey.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import type { Decision, Reason } from '../election/decision.ts';
import { earliestAfter, type Instant, type Now } from '../election/model.ts';
import { livenessExpiry } from '../election/verdict.ts';
import { type CandidateState, type ElectionInput, showsElection, surveyElection } from '../election/view.ts';
import {
  assumeAnswers,
  describeStatus,
  type RankedCandidate,
  rank,
  verdictOn,
} from '../inspection/lease-status.ts';
import type { Clock } from '../support/clock.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import { type CandidateEntry, type LeaseEntry, pageJson } from './wire.ts';

/** The source of the Leases: the controller. */
export interface LeaseSource {
  coordinatedLeases(): Iterable<LeaseKey>;
  gather(key: LeaseKey): ElectionInput;
}

interface Row {
  /** The LeaseEntry in JSON. */
  readonly text: string;
  readonly isHeld: boolean;
}

/**
 * The entries of all Leases on the page, kept up to date while the board is open. An entry is updated when something
 * about its Lease has changed, or when time alone changes it.
 */
export class Board {
  readonly #clock: Clock;
  readonly #source: LeaseSource;
  readonly #rows = new Map<LeaseKey, Row>();
  /** Leases to update. */
  #stale = new Set<LeaseKey>();
  /** Leases that are being updated. Later changes wait for the next update. */
  #gathered = new Set<LeaseKey>();
  readonly #deadlines = new DeadlineHeap();
  #isOpen = false;
  #isLoaded = false;
  /** Milliseconds from a monotonic instant to the Unix epoch; constant while the board is open. */
  #wallOffsetMs = 0;

  constructor(clock: Clock, source: LeaseSource) {
    this.#clock = clock;
    this.#source = source;
  }

  /** Starts to follow the Leases. {@link refresh} adds their entries. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#wallOffsetMs = Number(this.#clock.wallTime() / 1000n) - this.#clock.now();
    for (const key of this.#source.coordinatedLeases()) this.#stale.add(key);
  }

  /** Stops following and forgets all entries. */
  close(): void {
    this.#isOpen = false;
    this.#isLoaded = false;
    this.#rows.clear();
    this.#stale.clear();
    this.#gathered.clear();
    this.#deadlines.clear();
  }

  /** The Lease or one of its candidates has changed. */
  seen(key: LeaseKey, isRenewalOnly: boolean): void {
    // A renewal of a held Lease does not change its entry.
    if (!isRenewalOnly || this.#rows.get(key)?.isHeld === false) this.touch(key);
  }

  /** A decision about the Lease was made, or a write was answered. */
  touch(key: LeaseKey): void {
    if (this.#isOpen) this.#stale.add(key);
  }

  /** Gathers all Leases that may have changed, for {@link refresh}. Does nothing while earlier ones still wait for it. */
  gatherStale(): void {
    if (this.#gathered.size > 0) return;
    const now = this.#clock.now();
    for (let key = this.#deadlines.popDue(now); key !== undefined; key = this.#deadlines.popDue(now)) {
      this.#stale.add(key);
    }
    [this.#gathered, this.#stale] = [this.#stale, this.#gathered];
  }

  /** Updates up to `count` of the gathered Leases. Returns those that have changed or are gone. */
  refresh(count: number): readonly LeaseKey[] {
    const now = { monotonic: this.#clock.now(), wall: this.#clock.wallTime() };
    const changed: LeaseKey[] = [];
    let left = count;
    for (const key of this.#gathered) {
      if (left-- === 0) break;
      this.#gathered.delete(key);
      if (this.#refreshOne(key, now)) changed.push(key);
    }
    if (this.#isOpen && this.#gathered.size === 0) this.#isLoaded = true;
    return changed;
  }

  /** Whether gathered Leases wait for their update. */
  get isRefreshing(): boolean {
    return this.#gathered.size > 0;
  }

  /** Whether all Leases that existed when the board was opened have an entry. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get size(): number {
    return this.#rows.size;
  }

  keys(): Iterable<LeaseKey> {
    return this.#rows.keys();
  }

  /** Returns the entry of a Lease as JSON; undefined if it has none. */
  text(key: LeaseKey): string | undefined {
    return this.#rows.get(key)?.text;
  }

  #refreshOne(key: LeaseKey, now: Now): boolean {
    const input = this.#source.gather(key);
    if (!isCoordinated(input)) {
      this.#deadlines.delete(key);
      return this.#rows.delete(key);
    }
    const { entry, until } = describeLease(input, now, this.#wallOffsetMs);
    if (until === undefined) this.#deadlines.delete(key);
    else this.#deadlines.set(key, until);
    const text = pageJson(entry);
    if (this.#rows.get(key)?.text === text) return false;
    this.#rows.set(key, { text, isHeld: entry.isHeld });
    return true;
  }
}

/** The entry of a Lease, and until when it is valid without a change. */
interface DescribedLease {
  readonly entry: LeaseEntry;
  /** Undefined for no limit. */
  readonly until: Instant | undefined;
}

/** Reasons whose text counts down seconds. */
const COUNTING_DOWN: ReadonlySet<Reason> = new Set(['PreemptionPending', 'HolderLate']);
const COUNTDOWN_MS = 1000;

/** Maximum number of candidates in an entry. The command line shows all. */
export const MAX_CANDIDATES = 100;

/**
 * Builds the entry of a Lease, by the controller's own decision.
 *
 * @param wallOffsetMs milliseconds from a monotonic instant to the Unix epoch: constant, so that an unchanged entry
 * stays equal.
 */
export function describeLease(input: ElectionInput, now: Now, wallOffsetMs: number): DescribedLease {
  const { namespace, name, lease } = input;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const supposed = assumeAnswers(view, decision);
  const { holder, isHeld, preferredHolder, strategy, reason, waitingFor, leaseTransitions } = describeStatus(
    { input, rawLease: undefined },
    decision,
    view,
    now,
  );
  const ranked = rank(supposed, decision, input, now, MAX_CANDIDATES);
  const isUnled = view.tenure.kind === 'vacant' && input.candidates.length > 0;
  const since = isUnled ? unledSince(input, view.tenure) : undefined;
  const atWall = (at: Instant) => Math.round(at + wallOffsetMs);
  const ends = [
    decision.requeue.kind === 'at' ? decision.requeue.time : undefined,
    view.tenure.kind === 'held' ? view.tenure.expiresAt : view.tenure.reservation?.until,
    livenessExpiry(view),
    ...(COUNTING_DOWN.has(reason) || hasPingOnItsWay(decision) ? [now.monotonic + COUNTDOWN_MS] : []),
  ];
  return {
    entry: {
      key: leaseKey(namespace, name),
      holder,
      isHeld,
      ...(isUnled && { isUnled }),
      ...(since !== undefined && { unledSince: atWall(since) }),
      ...(preferredHolder !== '' && { preferredHolder }),
      strategy,
      reason,
      ...(waitingFor !== undefined && { waitingFor }),
      verdict: verdictOn(isHeld ? lease?.holderIdentity : undefined, supposed, decision),
      transitions: leaseTransitions,
      candidates: ranked.map((one) =>
        candidateEntry(one, atWall(now.monotonic - one.renewedSecondsAgo * 1000)),
      ),
      ...(ranked.length < decision.standings.length && { more: countBeyond(ranked, decision) }),
    },
    until: earliestAfter(now.monotonic, ends),
  };
}

/** Whether this Lease has or had elections. */
function isCoordinated({ lease, candidates }: ElectionInput): boolean {
  return candidates.length > 0 || showsElection(lease);
}

/** Counts the candidates that are not shown, by state. */
function countBeyond(
  shown: readonly RankedCandidate[],
  { standings }: Decision,
): NonNullable<LeaseEntry['more']> {
  const counts: Partial<Record<CandidateState, number>> = {};
  for (const { state } of standings) counts[state] = (counts[state] ?? 0) + 1;
  for (const { state } of shown) counts[state] = (counts[state] ?? 0) - 1;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

/** Whether a ping is in flight. Its timeout starts at a moment that causes no event. */
function hasPingOnItsWay({ standings }: Decision): boolean {
  return standings.some(
    ({ state, observation: { ping } }) => state === 'Awaiting' && ping?.deliveredAt === undefined,
  );
}

function candidateEntry(ranked: RankedCandidate, renewedAt: number): CandidateEntry {
  const { name, binaryVersion, emulationVersion, state, lostBy, isHolder, isPreferred } = ranked;
  const { priority, priorityUntil } = ranked;
  return {
    name,
    ...(binaryVersion !== undefined && { binary: binaryVersion }),
    ...(emulationVersion !== undefined && { emulation: emulationVersion }),
    ...((priority !== 0 || priorityUntil !== undefined) && { priority }),
    ...(priorityUntil !== undefined && { priorityUntil: Date.parse(priorityUntil) }),
    state,
    ...(lostBy !== undefined && { lostBy }),
    ...(isHolder && { isHolder }),
    ...(isPreferred && { isPreferred }),
    renewedAt,
  };
}
