import { unledSince } from '../controller/elections-survey.ts';
import { leaseKey } from '../coordination/lease-key.ts';
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
import type { CandidateEntry, LeaseEntry } from './wire.ts';

/** A Lease as the page shows it, and until when that holds if nothing is seen to change. */
export interface LookedAtLease {
  readonly entry: LeaseEntry;
  /** Undefined: until something changes. */
  readonly until: Instant | undefined;
}

/** What these wait for is told with the seconds that are left. */
const COUNTING_DOWN: ReadonlySet<Reason> = new Set(['PreemptionPending', 'HolderLate']);
const COUNTDOWN_MS = 1000;
/** Whoever looks for one among more has the command line. */
export const MOST_CANDIDATES = 100;

/** Whether an election is about this Lease, or was. */
export function isCoordinated({ lease, candidates }: ElectionInput): boolean {
  return candidates.length > 0 || showsElection(lease);
}

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
  const ranked = rank(supposed, decision, input, now, MOST_CANDIDATES);
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
