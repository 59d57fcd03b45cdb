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

/**
 * The possible results of an election, with the reasons of the decisions that lead to each result. The help text of the
 * metric `cle_elections_total` explains the results.
 */
export const electionResults = {
  granted: GRANTED,
  revised: ['GrantRevised'],
  preferred: ['BetterCandidate'],
  delegated: ['ThirdPartyStrategy'],
  undecided: ['NoLiveCandidates', 'NoElectableCandidates', 'StrategyConflict'],
  failed: [...GRANTED, 'GrantRevised', 'BetterCandidate', 'ThirdPartyStrategy'],
} as const satisfies Readonly<Record<string, readonly Reason[]>>;

export type ElectionResult = keyof typeof electionResults;

/** If the writes of this decision end an election, returns the result of that election; otherwise undefined. */
export function resultOf(decision: Decision): Exclude<ElectionResult, 'undecided' | 'failed'> | undefined {
  const grant = grantOf(decision);
  if (grant) return grant.revises ? 'revised' : 'granted';
  if (preferredBy(decision) !== undefined) return 'preferred';
  const isDelegation = decision.reason === 'ThirdPartyStrategy' && decision.actions.some(isLeaseWrite);
  return isDelegation ? 'delegated' : undefined;
}

/**
 * Whether this decision elects a candidate under OldestEmulationVersion, although another live, electable candidate has
 * a higher binaryVersion and at least the same priority.
 */
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

/** The last known moment at which an election was not needed or not possible. */
interface Rest {
  readonly at: Instant;
  /** True if there were no candidates, or if the Lease was vacant but could not be granted. */
  readonly isFruitless: boolean;
}

interface Course {
  readonly rest: Rest | undefined;
  readonly neededSince: Instant | undefined;
  readonly decidedAt: Instant;
}

/** Measures how long elections take, from the moment when an election is needed. A Lease has one election at a time. */
export function createElectionTimer() {
  const courses = new Map<string, Course>();
  return {
    decided(key: string, decision: Decision, input: ElectionInput, at: Instant): void {
      const { rest, neededSince } = courses.get(key) ?? {};
      const isWaiting = decision.reason === 'AwaitingAcks' || decision.reason === 'FirstElectionSettling';
      if (isWaiting || elects(decision)) {
        const possibleAt = rest === undefined || rest.isFruitless ? at : rest.at;
        const since = neededSince ?? Math.max(possibleAt, vacantSince(input, at) ?? at);
        courses.set(key, { rest, neededSince: since, decidedAt: at });
      } else {
        const isFruitless = decision.reason === 'NoCandidates' || surveyTenure(input, at).kind === 'vacant';
        courses.set(key, { rest: { at, isFruitless }, neededSince: undefined, decidedAt: at });
      }
    },
    /** Returns the durations of the election if `decision` grants or prefers. Otherwise, or after `lockLost`, undefined. */
    applied(key: string, decision: Decision, input: ElectionInput, at: Instant) {
      const course = courses.get(key);
      if (!elects(decision) || !course) return undefined;
      courses.set(key, { rest: { at, isFruitless: false }, neededSince: undefined, decidedAt: at });
      const { rest, neededSince = course.decidedAt, decidedAt } = course;
      const expiredAt = decision.reason === 'LeaseExpired' ? vacantSince(input, decidedAt) : undefined;
      return {
        /** Time from the moment when an election was needed and possible until the decision. */
        needToDecisionMs: decidedAt - neededSince,
        /**
         * Time from the expiry of the Lease until the grant; only for the reason `LeaseExpired`. If no election was
         * possible for a while after the expiry, the time starts when one became possible.
         */
        expiryToHolderMs:
          expiredAt === undefined ? undefined : at - Math.max(expiredAt, rest ? neededSince : expiredAt),
      };
    },
    forgotten(key: string): void {
      courses.delete(key);
    },
    /** Forgets the elections in progress. Call this when this process no longer decides. */
    lockLost(): void {
      courses.clear();
    },
  };
}

/** Reasons that users should know about, with their log level: a warning if an operator may have to act. */
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

/** Reasons for intermediate steps of an election, such as a wait for answers. A step neither begins nor ends a problem. */
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

/** Detects the beginning of each problem of a Lease, once for each problem, and the end of a strategy conflict. */
export class TroubleWatch {
  readonly #told = new Map<string, string>();
  readonly #conflicting = new Set<string>();

  /**
   * Returns the log level of a problem that begins with this decision, as `began`. If this decision ends a strategy
   * conflict, also returns the strategy on which the candidates now agree, as `resolvedTo`.
   */
  decided(key: string, { reason, outcome, conflict = '' }: Decision) {
    if (electionSteps.has(reason)) return {};
    // Check `reason`, too: if the live candidates agree, `outcome` has a strategy, even if other candidates still disagree.
    const isConflict = reason === 'StrategyConflict';
    if (isConflict) this.#conflicting.add(key);
    const isResolved = !isConflict && 'strategy' in outcome && this.#conflicting.delete(key);
    const resolvedTo = isResolved ? outcome.strategy : undefined;
    const level = troubleLevels[reason];
    const trouble = `${reason} ${conflict}`;
    if (this.#told.get(key) === trouble) return { resolvedTo };
    if (level === undefined) this.#told.delete(key);
    else this.#told.set(key, trouble);
    return { resolvedTo, began: level };
  }

  /** Call this after a grant of the Lease. A problem from before the grant then counts as new if it occurs again. */
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
