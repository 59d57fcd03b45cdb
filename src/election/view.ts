import { backoffDelayMs } from '../support/backoff.ts';
import { type Reservation, reservationFor, withoutBelief } from './beliefs.ts';
import { type CandidateObservation, isSilent, liveUntil, sinceRenewalMs } from './candidate-observation.ts';
import { isPlainlyHeld, type PossiblePods } from './holder-binding.ts';
import { type HolderEnd, judgeHolderEnd } from './holder-end.ts';
import {
  blockingBeliefs,
  expiryOf,
  isGrantUnrenewed,
  isProvisional,
  LAPSES_ALLOWED,
  type LeaseMemory,
  NO_ATTEMPTS,
  withLapse,
  withWithdrawal,
} from './lease-memory.ts';
import {
  type ElectionSettings,
  FENCE,
  type Instant,
  type Lease,
  type LeaseCandidate,
  type Now,
  withCurrentPriority,
} from './model.ts';
import { decideOutcome, essentials, type Outcome } from './outcome.ts';

export interface ObservedCandidate {
  readonly candidate: LeaseCandidate;
  readonly observation: CandidateObservation;
}

/** Everything that a decision about one Lease depends on, except the time. */
export interface ElectionInput {
  readonly namespace: string;
  readonly name: string;
  readonly lease: Lease | undefined;
  readonly memory: LeaseMemory;
  /** The candidates for this Lease, in any order. */
  readonly candidates: readonly ObservedCandidate[];
  /** Candidates that have the same name as one of `candidates`. They take no part, but get pings (rule 13). */
  readonly twins?: readonly ObservedCandidate[] | undefined;
  /** The Pods that may run the holder, if this process watches Pods (rule 17). */
  readonly holderPods?: PossiblePods | undefined;
  /** Whether an annotation on the Namespace asks for crash evidence about plain electors (rule 17). */
  readonly isEvidenceAskedByNamespace?: boolean;
  /** Until this time, `candidates` may be incomplete: the server no longer serves one of their APIs (rule 13). */
  readonly hiddenUntil?: Instant | undefined;
  /** Whether the server drops strategy and preferredHolder (rule 14); undefined if no server answer has shown this. */
  readonly dropsFields?: boolean | undefined;
  readonly settings: ElectionSettings;
}

/** The input of a decision, and what follows from that input at one moment. Each policy bases its verdict on a view. */
export interface View<T extends Tenure = Tenure> {
  readonly input: ElectionInput;
  readonly now: Now;
  readonly at: Instant;
  readonly tenure: T;
  readonly standings: readonly Standing[];
  /** The standings of `input.twins`. They take no part, but the coordinator pings and collects them (rule 13). */
  readonly twins: readonly Standing[];
  /** Some of the live candidates. An election among these has the same outcome as an election among all live candidates. */
  readonly live: readonly LeaseCandidate[];
  readonly outcome: Outcome;
  /** The outcome of the election if all candidates in the states `Awaiting` and `Idle` answered a ping. */
  readonly outlook: Outcome;
}

export type HeldView = View<Extract<Tenure, { kind: 'held' }>>;

export type VacantView = View<Extract<Tenure, { kind: 'vacant' }>>;

export function surveyElection(known: ElectionInput, now: Now): View {
  const tenure = surveyTenure(known, now.monotonic);
  const input = withEndedHolder(known, tenure);
  const standings = surveyStandings(input, tenure, now);
  const incumbent = tenure.kind === 'held' ? tenure.holder : undefined;
  const live = essentials(candidatesIn(standings, 'Live'), incumbent);
  const others = essentials(candidatesIn(standings, 'Awaiting', 'Idle'), incumbent);
  const outcome = decideOutcome(live, incumbent);
  const outlook = others.length === 0 ? outcome : decideOutcome([...live, ...others], incumbent);
  const twins = standingsOf(input.twins ?? [], undefined, input, now);
  return { input, now, at: now.monotonic, tenure, standings, twins, live, outcome, outlook };
}

export function isHeld(view: View): view is HeldView {
  return view.tenure.kind === 'held';
}

export function possibleCandidates({ standings }: View): readonly LeaseCandidate[] {
  return candidatesIn(standings, 'Live', 'Awaiting', 'Idle');
}

export type Tenure =
  | {
      readonly kind: 'held';
      readonly lease: Lease;
      readonly holder: string;
      /** If the holder has not renewed by this time, the coordinator pings possible successors (rule 6). */
      readonly lateAt: Instant;
      readonly expiresAt: Instant;
      /** True if the holder has not taken up a grant by this project, and no former holder can lead (rule 12). */
      readonly isProvisional: boolean;
    }
  | {
      readonly kind: 'vacant';
      /** Why the Lease is vacant. GrantRevised: the holder has not taken up its grant, and is gone or silent. */
      readonly need:
        | 'LeaseMissing'
        | 'LeaseExpired'
        | 'LeaseReleased'
        | 'HolderEnded'
        | 'LeaseFenced'
        | 'GrantRevised';
      readonly lease: Lease | undefined;
      /** Set while a former holder may still believe that it holds the Lease (rule 8), or until a fence expires. */
      readonly reservation: Reservation | undefined;
      /** When there was first proof that the holder has ended (rule 17). */
      readonly endedAt?: Instant;
    };

/** Without crash evidence, pings start at most this long before an expiry, in ms. Enough for three waves (rule 6). */
const ASK_AHEAD_MS = 3000;

/** Returns whether the Lease is held or vacant at `at`, according to what this process has seen. */
export function surveyTenure(input: ElectionInput, at: Instant): Tenure {
  const { lease, memory, settings } = input;
  const { record } = memory;
  const reservation = reservationFor(blockingBeliefs(memory), at);
  if (!lease) return { kind: 'vacant', need: 'LeaseMissing', lease, reservation };
  if (!record || record.holder === '') return { kind: 'vacant', need: 'LeaseReleased', lease, reservation };
  const expiresAt = expiryOf(memory);
  if (at >= expiresAt) return { kind: 'vacant', need: 'LeaseExpired', lease, reservation };
  if (record.holder === FENCE) {
    const fenced = { holder: undefined, from: record.since, until: expiresAt, othersUntil: expiresAt };
    return { kind: 'vacant', need: 'LeaseFenced', lease, reservation: fenced };
  }
  const isProvisionalNow = isProvisional(memory, lease, at);
  if (isProvisionalNow && isGranteeLost(input, record.holder, at))
    return { kind: 'vacant', need: 'GrantRevised', lease, reservation };
  const aheadMs = Math.min(ASK_AHEAD_MS, settings.electionDurationMs);
  const lateAt = Math.max(record.since + (record.durationMs * 2) / 3, expiresAt - aheadMs);
  const held = { kind: 'held', lease, holder: record.holder, isProvisional: isProvisionalNow } as const;
  const end = holderEndIn(input);
  if (end?.kind !== 'ends' || end.at >= expiresAt) return { ...held, lateAt, expiresAt };
  if (at < end.at) return { ...held, lateAt: Math.min(lateAt, at), expiresAt: end.at };
  // Only this holder has ended. Other former holders may still believe that they lead (rule 8).
  const forOthers = reservationFor(withoutBelief(blockingBeliefs(memory), record.holder), at);
  return { kind: 'vacant', need: 'HolderEnded', lease, reservation: forOthers, endedAt: end.at };
}

/** If the holder has ended, adds a withdrawal to the input, as if the holder had released the Lease (rule 17). */
function withEndedHolder(input: ElectionInput, tenure: Tenure): ElectionInput {
  if (tenure.kind !== 'vacant' || tenure.endedAt === undefined) return input;
  const { memory } = input;
  const withdrawals = withWithdrawal(memory.withdrawals, memory.record?.holder ?? '', tenure.endedAt);
  return { ...input, memory: { ...memory, withdrawals } };
}

/** Returns what crash evidence shows about the holder; undefined if rule 17 is off, or if there is no Lease. */
export function holderEndIn(input: ElectionInput): HolderEnd | undefined {
  const { lease, memory, candidates, holderPods: possible = { pods: [] }, settings } = input;
  if (!settings.isCrashEvidenceUsed || !lease || !memory.record) return undefined;
  const holder = candidates.find(({ candidate }) => candidate.name === memory.record?.holder);
  return judgeHolderEnd({
    ...{ lease, memory, candidate: holder?.candidate, hasCandidates: candidates.length > 0, possible },
    isAskedByNamespace: input.isEvidenceAskedByNamespace ?? false,
  });
}

/** True if crash evidence is on, the Lease is for plain electors, and an annotation asks for evidence (rule 17). */
export function isEvidenceAsked(input: ElectionInput): boolean {
  const { lease, candidates, settings, isEvidenceAskedByNamespace } = input;
  const isAsked = lease?.asksForEvidence || isEvidenceAskedByNamespace;
  if (!lease || !settings.isCrashEvidenceUsed || !isAsked) return false;
  return isPlainlyHeld({ lease, hasCandidates: candidates.length > 0 });
}

/** True if the candidate of `holder` is gone or does not answer. Call this only for a provisional grant to `holder`. */
function isGranteeLost(
  { candidates, settings, memory }: ElectionInput,
  holder: string,
  at: Instant,
): boolean {
  const grantee = candidates.find(({ candidate }) => candidate.name === holder);
  if (!grantee || grantee.candidate.isDeleting) return true;
  // A fresh candidate is live (rule 3): otherwise, the election would grant it the Lease again and again.
  return (
    isSilent(grantee.observation, at, settings) &&
    at >= liveUntil(grantee.observation, memory.decidedAt, settings)
  );
}

/** True if the Lease names a strategy or a preferredHolder: the Lease has or had elections. */
export function showsElection(lease: Lease | undefined): boolean {
  return lease?.strategy !== undefined || lease?.preferredHolder !== undefined;
}

/** The current state of a candidate (rules 1 and 3). */
export type CandidateState =
  | 'Live' // Takes part in the election.
  | 'Awaiting' // The coordinator has pinged the candidate, which may still answer.
  | 'Idle' // Valid, but takes part only after a renewal, such as the answer to a ping.
  | 'Lapsed' // Did not take up its grants. Takes part only if no other candidate can lead.
  | 'Withdrawn' // Has just released the Lease. Takes part only if no other candidate can lead.
  | 'Unresponsive' // Did not answer a ping in time. Takes no part until it renews.
  | 'Expired' // Has not renewed for `candidateValidityMs`. Takes no part until it renews.
  | 'Deleting'; // Has a deletionTimestamp, or the fence's name. Takes no part.

export interface Standing extends ObservedCandidate {
  readonly state: CandidateState;
  readonly isHolder: boolean;
  /** True if a recent renewal or ack shows that the candidate is alive. This does not depend on `state`. */
  readonly isAlive: boolean;
}

const LAPSE_BACKOFF_CAP_MS = 10 * 60_000;

/** Returns the standing of each candidate, in the order of the input. */
export function surveyStandings(input: ElectionInput, tenure: Tenure, now: Now): readonly Standing[] {
  return standingsOf(input.candidates, tenure.kind === 'held' ? tenure.holder : undefined, input, now);
}

function standingsOf(
  candidates: readonly ObservedCandidate[],
  holder: string | undefined,
  input: ElectionInput,
  { monotonic: at, wall }: Now,
): readonly Standing[] {
  return candidates.map((observed): Standing => {
    const { observation } = observed;
    const candidate = withCurrentPriority(observed.candidate, wall);
    const isHolder = candidate.name === holder;
    const isAlive = at < liveUntil(observation, input.memory.decidedAt, input.settings);
    const state = stateOf(observed, isHolder, isAlive, input, at);
    return { candidate, observation, isHolder, isAlive, state };
  });
}

function stateOf(
  { candidate, observation }: ObservedCandidate,
  isHolder: boolean,
  isAlive: boolean,
  input: ElectionInput,
  at: Instant,
): CandidateState {
  const { settings } = input;
  // A candidate must not use the name FENCE: in a Lease, this name shows that there is no real holder (rule 14).
  if (candidate.isDeleting || candidate.name === FENCE) return 'Deleting';
  // A valid holder needs no answer to a ping. If it has crashed, the Lease expires.
  if (isHolder) return 'Live';
  if (at < withdrawnUntil(input, candidate.name)) return 'Withdrawn';
  const hasLapsed = isLapsed(input, candidate.name, at);
  if (isAlive) return hasLapsed ? 'Lapsed' : 'Live';
  if (sinceRenewalMs(observation, at) >= settings.candidateValidityMs) return 'Expired';
  if (isSilent(observation, at, settings)) return 'Unresponsive';
  if (hasLapsed) return 'Lapsed';
  const { ping } = observation;
  return ping && ping.ackedAt === undefined ? 'Awaiting' : 'Idle';
}

/** True if a release or lapses hold the candidate back: it leads only if no other can (rules 3 and 7). */
export function isHeldBack(input: ElectionInput, name: string, at: Instant): boolean {
  return at < withdrawnUntil(input, name) || isLapsed(input, name, at);
}

/** Returns the time until which a release holds the candidate back (rule 3); -Infinity without a release. */
export function withdrawnUntil({ memory, settings }: ElectionInput, name: string): Instant {
  return (memory.withdrawals.get(name) ?? Number.NEGATIVE_INFINITY) + settings.electionDurationMs;
}

function isLapsed(input: ElectionInput, name: string, at: Instant): boolean {
  return at < (lapsedUntil(input, name, at) ?? at);
}

/** Returns the lapses of a candidate and of its Lease, with a grant that has just run out without a renewal (rule 7). */
export function lapsesAt(
  { memory, lease }: Pick<ElectionInput, 'memory' | 'lease'>,
  name: string,
  at: Instant,
) {
  const { record, lapses, lapsesOfLease } = memory;
  const [own, ofLease] = [lapses.get(name), lapsesOfLease];
  const ranOutAt = record?.holder === name && isGrantUnrenewed(memory, lease) ? expiryOf(memory) : undefined;
  if (ranOutAt === undefined || at < ranOutAt) return { own, ofLease };
  return {
    own: withLapse(own ?? NO_ATTEMPTS, memory, ranOutAt),
    ofLease: withLapse(ofLease, memory, ranOutAt),
  };
}

/** Returns the time until which lapses hold or held the candidate back (rule 7); undefined with too few lapses. */
export function lapsedUntil(
  { memory, lease, settings }: ElectionInput,
  name: string,
  at: Instant,
): Instant | undefined {
  const { own, ofLease } = lapsesAt({ memory, lease }, name, at);
  if (!own) return undefined;
  // If several candidates have lapsed in a row, one lapse of each is enough: a restarted program may have a new name.
  const excess = Math.max(own.count, Math.min(ofLease.count, LAPSES_ALLOWED + 1)) - LAPSES_ALLOWED;
  if (excess <= 0) return undefined;
  const initialMs = 2000 * settings.leaseDurationSeconds;
  return own.lastAt + backoffDelayMs(excess, { initialMs, maxMs: LAPSE_BACKOFF_CAP_MS });
}

export function standingsIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly Standing[] {
  return standings.filter(({ state }) => states.includes(state));
}

export function candidatesIn(
  standings: readonly Standing[],
  ...states: readonly CandidateState[]
): readonly LeaseCandidate[] {
  const candidates: LeaseCandidate[] = [];
  for (const { state, candidate } of standings) if (states.includes(state)) candidates.push(candidate);
  return candidates;
}
