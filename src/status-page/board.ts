import type { SeenListener } from '../controller/controller-parts.ts';
import { unledSince } from '../controller/elections-survey.ts';
import { type LeaseKey, leaseKey } from '../coordination/lease-key.ts';
import { decideElection } from '../election/decide.ts';
import type { Decision } from '../election/decision.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Reason } from '../election/reason.ts';
import type { CandidateState } from '../election/standing.ts';
import { showsElection } from '../election/tenure.ts';
import { earliestAfter, type Instant, type Now } from '../election/time.ts';
import { surveyElection } from '../election/view.ts';
import { livenessExpiry } from '../election/waiting.ts';
import {
  describeStatus,
  type RankedCandidate,
  rank,
  supposeAnswers,
  verdictOn,
} from '../inspection/lease-status.ts';
import type { Clock } from '../support/clock.ts';
import { DeadlineHeap } from '../support/deadline-heap.ts';
import { type CandidateEntry, type LeaseEntry, pageJson } from './wire.ts';

/** Who knows the Leases: the controller. */
export interface LeaseSource {
  coordinatedLeases(): Iterable<LeaseKey>;
  gather(key: LeaseKey): ElectionInput;
  subscribe(listener: SeenListener): () => void;
}

interface Row {
  /** The LeaseEntry in JSON. */
  readonly text: string;
  readonly isHeld: boolean;
}

/**
 * Every Lease as the page shows it, kept up to date while it is open, and only then. A Lease is looked at again when
 * something about it has changed, or at the moment at which time alone changes it.
 */
export class Board {
  readonly #clock: Clock;
  readonly #source: LeaseSource;
  readonly #rows = new Map<LeaseKey, Row>();
  /** To be looked at again. */
  #stale = new Set<LeaseKey>();
  /** Those of them that are being looked at: whatever changes meanwhile, and however often, is for the next time. */
  #gathered = new Set<LeaseKey>();
  readonly #deadlines = new DeadlineHeap();
  #isOpen = false;
  #isLoaded = false;
  #unsubscribe = () => {};
  /** What to add to an instant to have milliseconds since the Unix epoch; the same as long as the board is open. */
  #wallOffsetMs = 0;

  constructor(clock: Clock, source: LeaseSource) {
    this.#clock = clock;
    this.#source = source;
  }

  /** Begins to follow the Leases; they come onto the board as {@link refresh} looks at them. */
  open(): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#wallOffsetMs = Number(this.#clock.wallTime() / 1000n) - this.#clock.now();
    for (const key of this.#source.coordinatedLeases()) this.#stale.add(key);
    this.#unsubscribe = this.#source.subscribe((key, isRenewalOnly) => {
      // Until when it holds is on the board already.
      if (!isRenewalOnly || this.#rows.get(key)?.isHeld === false) this.#stale.add(key);
    });
  }

  /** Ends that, and forgets everything. */
  close(): void {
    this.#isOpen = false;
    this.#isLoaded = false;
    this.#unsubscribe();
    this.#rows.clear();
    this.#stale.clear();
    this.#gathered.clear();
    this.#deadlines.clear();
  }

  /** A decision about the Lease was made, or what it wrote was answered. */
  touch(key: LeaseKey): void {
    if (this.#isOpen) this.#stale.add(key);
  }

  /** Has {@link refresh} look at all that may have changed by now, unless it still has other Leases to look at. */
  gatherStale(): void {
    if (this.#gathered.size > 0) return;
    const now = this.#clock.now();
    for (let key = this.#deadlines.popDue(now); key !== undefined; key = this.#deadlines.popDue(now)) {
      this.#stale.add(key);
    }
    [this.#gathered, this.#stale] = [this.#stale, this.#gathered];
  }

  /** Looks at up to `count` of the Leases gathered. Returns those that have changed, the gone ones among them. */
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

  /** Whether Leases that were gathered have yet to be looked at. */
  get isRefreshing(): boolean {
    return this.#gathered.size > 0;
  }

  /** Whether every Lease that there was when the board was opened has been looked at. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get size(): number {
    return this.#rows.size;
  }

  keys(): Iterable<LeaseKey> {
    return this.#rows.keys();
  }

  /** The Lease's entry in JSON; undefined when it is not on the board. */
  text(key: LeaseKey): string | undefined {
    return this.#rows.get(key)?.text;
  }

  #refreshOne(key: LeaseKey, now: Now): boolean {
    const input = this.#source.gather(key);
    if (!isCoordinated(input)) {
      this.#deadlines.delete(key);
      return this.#rows.delete(key);
    }
    const { entry, until } = lookAtLease(input, now, this.#wallOffsetMs);
    if (until === undefined) this.#deadlines.delete(key);
    else this.#deadlines.set(key, until);
    const text = pageJson(entry);
    if (this.#rows.get(key)?.text === text) return false;
    this.#rows.set(key, { text, isHeld: entry.isHeld });
    return true;
  }
}

/** A Lease as the page shows it, and until when that holds if nothing is seen to change. */
interface LookedAtLease {
  readonly entry: LeaseEntry;
  /** Undefined: until something changes. */
  readonly until: Instant | undefined;
}

/** What these wait for is told with the seconds that are left. */
const COUNTING_DOWN: ReadonlySet<Reason> = new Set(['PreemptionPending', 'HolderLate']);
const COUNTDOWN_MS = 1000;

/** Whoever looks for one among more has the command line. */
export const MAX_CANDIDATES = 100;

/**
 * Judges one Lease by the controller's own decision.
 *
 * @param wallOffsetMs what to add to an instant of the monotonic clock to have it in milliseconds since the Unix epoch:
 *   always the same, so that what has not changed looks as it did.
 */
export function lookAtLease(input: ElectionInput, now: Now, wallOffsetMs: number): LookedAtLease {
  const { namespace, name, lease } = input;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const supposed = supposeAnswers(view, decision);
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

/** Whether an election is about this Lease, or was. */
function isCoordinated({ lease, candidates }: ElectionInput): boolean {
  return candidates.length > 0 || showsElection(lease);
}

/** How many candidates there are beyond those that are shown, by their state. */
function countBeyond(
  shown: readonly RankedCandidate[],
  { standings }: Decision,
): NonNullable<LeaseEntry['more']> {
  const counts: Partial<Record<CandidateState, number>> = {};
  for (const { state } of standings) counts[state] = (counts[state] ?? 0) + 1;
  for (const { state } of shown) counts[state] = (counts[state] ?? 0) - 1;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

/** Nothing is seen of the moment from when the time of such a ping runs. */
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
