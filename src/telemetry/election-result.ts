import { unledSince } from '../controller/elections-survey.ts';
import { type Decision, grantOf, isLeaseWrite, preferredBy, type Reason } from '../election/decision.ts';
import type { Instant } from '../election/model.ts';
import { parseVersion, strategies } from '../election/strategies.ts';
import { type ElectionInput, surveyTenure } from '../election/view.ts';

const GRANTED = [
  'LeaseMissing',
  'LeaseExpired',
  'LeaseReleased',
  'HolderEnded',
  'FormerHolderAnswered',
] as const;

/** The results of elections, each with the reasons of its decisions. The help of `cle_elections_total` explains them. */
export const electionResults = {
  granted: GRANTED,
  revised: ['GrantRevised'],
  preferred: ['BetterCandidate'],
  delegated: ['ThirdPartyStrategy'],
  undecided: ['NoLiveCandidates', 'NoElectableCandidates', 'StrategyConflict'],
  failed: [...GRANTED, 'GrantRevised', 'BetterCandidate', 'ThirdPartyStrategy'],
} as const satisfies Readonly<Record<string, readonly Reason[]>>;

export type ElectionResult = keyof typeof electionResults;

/** Returns the result of an election whose writes have succeeded; undefined if the decision has no result. */
export function resultOf(decision: Decision): Exclude<ElectionResult, 'undecided' | 'failed'> | undefined {
  const grant = grantOf(decision);
  if (grant) return grant.revises ? 'revised' : 'granted';
  if (preferredBy(decision) !== undefined) return 'preferred';
  const isDelegation = decision.reason === 'ThirdPartyStrategy' && decision.actions.some(isLeaseWrite);
  return isDelegation ? 'delegated' : undefined;
}

/** Whether OldestEmulationVersion chose a candidate although a newer one, with at least its priority, could lead. */
export function isSkewPrevention(decision: Decision): boolean {
  const { outcome, standings } = decision;
  const elected = grantOf(decision)?.holder ?? preferredBy(decision);
  if (outcome.kind !== 'leader' || outcome.strategy !== 'OldestEmulationVersion') return false;
  const winner = standings.find(({ candidate }) => candidate.name === elected)?.candidate;
  const version = parseVersion(winner?.binaryVersion);
  if (!winner || !version) return false;
  const order = strategies.get(outcome.strategy);
  return standings.some(({ state, candidate }) => {
    const other = parseVersion(candidate.binaryVersion);
    const isNewer = other !== undefined && other.compare(version) > 0;
    const isBehind = candidate.priority.value < winner.priority.value;
    return state === 'Live' && order?.isElectable(candidate) && isNewer && !isBehind;
  });
}

/** The last time at which no election was needed, or no election was possible. */
interface Rest {
  readonly at: Instant;
  /** True if no election was possible. */
  readonly isFruitless: boolean;
}

interface Course {
  readonly rest: Rest | undefined;
  readonly neededSince: Instant | undefined;
  readonly decidedAt: Instant;
}

/** Measures elections from the moment when they are needed, one at a time for each Lease. */
export function createElectionTimer() {
  const courses = new Map<string, Course>();
  return {
    decided(key: string, decision: Decision, input: ElectionInput, at: Instant): void {
      const { rest, neededSince } = courses.get(key) ?? {};
      const isWaiting = decision.reason === 'AwaitingAcks' || decision.reason === 'FirstElectionSettling';
      if (isWaiting || elects(decision))
        courses.set(key, { rest, neededSince: neededSince ?? needSince(rest, input, at), decidedAt: at });
      else courses.set(key, { rest: restAt(decision, input, at), neededSince: undefined, decidedAt: at });
    },
    /** Returns the durations of an election that is over. */
    applied(key: string, decision: Decision, input: ElectionInput, at: Instant) {
      const course = courses.get(key);
      if (!elects(decision) || !course) return undefined;
      courses.set(key, { rest: { at, isFruitless: false }, neededSince: undefined, decidedAt: at });
      const { rest, neededSince = course.decidedAt, decidedAt } = course;
      const expiredAt = decision.reason === 'LeaseExpired' ? vacantSince(input, decidedAt) : undefined;
      return {
        /** From the moment when an election was needed and possible, to the decision. */
        needToDecisionMs: decidedAt - neededSince,
        /**
         * From the expiry, or from the first electable candidate after it, to the new holder. Undefined without an expiry.
         * An election may have been needed before the expiry, because of a better candidate.
         */
        expiryToHolderMs:
          expiredAt === undefined ? undefined : at - Math.max(expiredAt, rest ? neededSince : expiredAt),
      };
    },
    forgotten(key: string): void {
      courses.delete(key);
    },
    /** Forgets the elections in progress. Call this when another coordinator decides from now on. */
    lockLost(): void {
      courses.clear();
    },
  };
}

/** Returns the Rest of a Lease for which no election is needed or possible at `at`. */
function restAt({ reason }: Decision, input: ElectionInput, at: Instant): Rest {
  return { at, isFruitless: reason === 'NoCandidates' || surveyTenure(input, at).kind === 'vacant' };
}

/** Returns when an election became needed and possible; now if there is no earlier decision. */
function needSince(rest: Rest | undefined, input: ElectionInput, at: Instant): Instant {
  return rest === undefined || rest.isFruitless ? at : Math.max(rest.at, vacantSince(input, at) ?? at);
}

/** Reasons that users should know about, with their log level: a warning if an operator must act. */
export const troubleLevels: Readonly<Partial<Record<Reason, 'info' | 'warn'>>> = {
  PreemptionBackoff: 'warn',
  HolderHidden: 'warn',
  WritesIgnored: 'warn',
  AwaitingFormerHolder: 'info',
  LeaseFenced: 'info',
  NoCandidates: 'info',
  NoLiveCandidates: 'warn',
  NoElectableCandidates: 'warn',
  StrategyConflict: 'warn',
  ThirdPartyStrategy: 'info',
  InvalidLeaseName: 'warn',
};

/** Steps of an election, such as a retry. A problem neither begins nor ends with them. */
export const electionSteps: ReadonlySet<Reason> = new Set<Reason>([
  'FirstElectionSettling',
  'RevisionPending',
  'BetterCandidate',
  'PreemptionPending',
  'HolderUnaware',
  'StrategyChanged',
  'HolderLate',
  'AwaitingAcks',
]);

/** Detects the start of each problem of a Lease once, and when its candidates agree on a strategy again. */
export class TroubleWatch {
  readonly #told = new Map<string, string>();
  readonly #conflicting = new Set<string>();

  /** Returns the log level of a new problem, and the agreed strategy when a conflict ends. */
  decided(key: string, { reason, outcome, conflict = '' }: Decision) {
    if (electionSteps.has(reason)) return {};
    const isAgreed = 'strategy' in outcome;
    if (reason === 'StrategyConflict') this.#conflicting.add(key);
    const resolvedTo = isAgreed && this.#conflicting.delete(key) ? outcome.strategy : undefined;
    const level = troubleLevels[reason];
    const trouble = `${reason} ${conflict}`;
    if (this.#told.get(key) === trouble) return { resolvedTo };
    if (level === undefined) this.#told.delete(key);
    else this.#told.set(key, trouble);
    return { resolvedTo, began: level };
  }

  /** Call this after the Lease was granted. If the same problem occurs again, it counts as new. */
  granted(key: string): void {
    this.#told.delete(key);
  }

  forgotten(key: string): void {
    this.#told.delete(key);
    this.#conflicting.delete(key);
  }
}

function elects(decision: Decision): boolean {
  return grantOf(decision) !== undefined || preferredBy(decision) !== undefined;
}

function vacantSince(input: ElectionInput, at: Instant): Instant | undefined {
  return unledSince(input, surveyTenure(input, at));
}
