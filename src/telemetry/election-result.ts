import { unledSince } from '../controller/elections-survey.ts';
import type { Action, Decision } from '../election/decision.ts';
import { grantOf, isLeaseWrite, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Reason } from '../election/reason.ts';
import { strategies } from '../election/strategies.ts';
import { surveyTenure } from '../election/tenure.ts';
import type { Instant } from '../election/time.ts';
import { parseVersion } from '../election/version.ts';

/**
 * How an election ended, each with the reasons that a decision can have then.
 *
 * granted: the Lease was given to somebody. revised: it was given to somebody else before its new holder had taken it up,
 * as that one was gone or a better candidate had come. preferred: its valid holder was asked to yield to a better candidate.
 * delegated: the strategy is somebody else's, and the Lease says so. undecided: nobody can be elected; counted when it
 * begins. failed: somebody was elected, but the Lease could not be written; it is tried again.
 */
export const electionResults = {
  granted: ['LeaseMissing', 'LeaseExpired', 'LeaseReleased', 'FormerHolderAnswered'],
  revised: ['GrantRevised'],
  preferred: ['BetterCandidate'],
  delegated: ['ThirdPartyStrategy'],
  undecided: ['NoLiveCandidates', 'NoElectableCandidates', 'StrategyConflict'],
  failed: [
    'LeaseMissing',
    'LeaseExpired',
    'LeaseReleased',
    'FormerHolderAnswered',
    'GrantRevised',
    'BetterCandidate',
    'ThirdPartyStrategy',
  ],
} as const satisfies Readonly<Record<string, readonly Reason[]>>;

export type ElectionResult = keyof typeof electionResults;

/** What has come of an election once the decision's writes have succeeded; undefined when it elected nobody. */
export function resultOf(decision: Decision): Exclude<ElectionResult, 'undecided' | 'failed'> | undefined {
  const grant = grantOf(decision);
  if (grant) return grant.revises ? 'revised' : 'granted';
  if (preferredBy(decision) !== undefined) return 'preferred';
  const isDelegation = decision.reason === 'ThirdPartyStrategy' && decision.actions.some(isLeaseWrite);
  return isDelegation ? 'delegated' : undefined;
}

/** Whether a Lease that is left as it is for this reason is one that an election found nobody for. */
export function isUndecided(reason: Reason): boolean {
  const undecided: readonly Reason[] = electionResults.undecided;
  return undecided.includes(reason);
}

/** Whom a decision that grants a Lease gives it away from, where that is known; undefined when it grants none. */
export function formerHolderOf(decision: Decision, { memory }: ElectionInput): string | undefined {
  const grant = grantOf(decision);
  const released = decision.reason === 'LeaseReleased' ? [...memory.withdrawals.keys()].at(-1) : undefined;
  return grant && (grant.former ?? released);
}

/**
 * Whether an election kept a Lease from going to a newer version too early: under OldestEmulationVersion somebody was
 * elected, or preferred, though an electable candidate with a higher binaryVersion, and no lower priority, took part.
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

/** How long the election that was just applied took, in milliseconds. */
interface ElectionTimes {
  /** From when it was needed, and anybody could be elected, to the decision. */
  readonly needToDecisionMs: number;
  /** From the expiry of the Lease, or from when anybody could be elected after it; undefined when it did not expire. */
  readonly expiryToHolderMs: number | undefined;
}

/** When it was last found that no election was needed, or none possible. */
export interface Rest {
  readonly at: Instant;
  /** True when nobody could have been elected then, had there been a need. */
  readonly isFruitless: boolean;
}

interface Course {
  readonly rest: Rest | undefined;
  readonly neededSince: Instant | undefined;
  readonly decidedAt: Instant;
}

/** Follows elections from the need for them to their end, one course for each Lease. */
export function createElectionTimer() {
  const courses = new Map<string, Course>();
  return {
    decided(key: string, decision: Decision, input: ElectionInput, at: Instant): void {
      const { rest, neededSince } = courses.get(key) ?? {};
      const isWaiting = decision.reason === 'AwaitingAcks' || decision.reason === 'FirstElectionSettling';
      const isOn = isWaiting || elects(decision);
      courses.set(
        key,
        isOn
          ? { rest, neededSince: neededSince ?? needSince(rest, input, at), decidedAt: at }
          : { rest: restAt(decision, input, at), neededSince: undefined, decidedAt: at },
      );
    },
    /** Undefined when the decision elected nobody. */
    applied(key: string, decision: Decision, input: ElectionInput, at: Instant): ElectionTimes | undefined {
      const course = courses.get(key);
      if (!elects(decision) || !course) return undefined;
      courses.set(key, { rest: { at, isFruitless: false }, neededSince: undefined, decidedAt: at });
      const { rest, neededSince = course.decidedAt, decidedAt } = course;
      const expiredAt = decision.reason === 'LeaseExpired' ? vacantSince(input, decidedAt) : undefined;
      return {
        needToDecisionMs: decidedAt - neededSince,
        // Before the expiry it may have been needed for another reason, as somebody better was there.
        expiryToHolderMs:
          expiredAt === undefined ? undefined : at - Math.max(expiredAt, rest ? neededSince : expiredAt),
      };
    },
    forgotten(key: string): void {
      courses.delete(key);
    },
    /** Somebody else decides from now on: what was on ends unseen. */
    standDown(): void {
      courses.clear();
    },
  };
}

/** How a Lease rests, once it was found at `at` that no election is needed, or none possible. */
export function restAt({ reason }: Decision, input: ElectionInput, at: Instant): Rest {
  return { at, isFruitless: reason === 'NoCandidates' || surveyTenure(input, at).kind === 'vacant' };
}

/**
 * Since when the election that is found at `at` to be needed has been needed, and possible. A Lease that this process has
 * not decided on before may have been without candidates for hours, as may one that nobody could be elected for.
 */
export function needSince(rest: Rest | undefined, input: ElectionInput, at: Instant): Instant {
  return rest === undefined || rest.isFruitless ? at : Math.max(rest.at, vacantSince(input, at) ?? at);
}

/** What a decision means to whoever watches over its Lease. */
interface ReasonTraits {
  /**
   * Set where a Lease is left in a state that its users must know of, though nothing was written; a warning where
   * somebody has to do something about it.
   */
  readonly trouble?: 'info' | 'warn';
  /** A step on the way, another attempt at what was in vain so far among them; it neither begins nor ends a trouble. */
  readonly isStep?: true;
}

const TABLE: Readonly<Record<Reason, ReasonTraits>> = {
  LeaseMissing: {},
  LeaseExpired: {},
  LeaseReleased: {},
  FormerHolderAnswered: {},
  GrantRevised: {},
  LeaderOptimal: {},
  FirstElectionSettling: { isStep: true },
  RevisionPending: { isStep: true },
  BetterCandidate: { isStep: true },
  PreemptionPending: { isStep: true },
  HolderUnaware: { isStep: true },
  PreemptionBackoff: { trouble: 'warn' },
  HolderHidden: { trouble: 'warn' },
  PreferredHolderLeads: {},
  PreferredHolderGone: {},
  PreferredHolderSilent: {},
  PreferredHolderNotBest: {},
  StrategyChanged: { isStep: true },
  WritesIgnored: { trouble: 'warn' },
  HolderLate: { isStep: true },
  AwaitingAcks: { isStep: true },
  AwaitingFormerHolder: { trouble: 'info' },
  LeaseFenced: { trouble: 'info' },
  NoCandidates: { trouble: 'info' },
  NoLiveCandidates: { trouble: 'warn' },
  NoElectableCandidates: { trouble: 'warn' },
  StrategyConflict: { trouble: 'warn' },
  ThirdPartyStrategy: { trouble: 'info' },
  InvalidLeaseName: { trouble: 'warn' },
  CoordinatorLease: {},
};

/** How loud to tell of a Lease that is left as it is for this reason; undefined when there is nothing to tell. */
export function troubleLevel(reason: Reason): 'info' | 'warn' | undefined {
  return TABLE[reason].trouble;
}

/** Whether a decision for this reason leaves a Lease in a state that somebody has to do something about. */
export function isTrouble(reason: Reason): boolean {
  return TABLE[reason].trouble === 'warn';
}

/** Whether a decision for this reason is one step of something that goes on. */
export function isStep(reason: Reason): boolean {
  return TABLE[reason].isStep === true;
}

/** What a decision begins or ends; undefined where it does neither. */
interface TroubleChange {
  /** The strategy that candidates agree on which disagreed before. */
  readonly resolvedTo: string | undefined;
  /** How loud to tell of a trouble that begins. */
  readonly began: 'info' | 'warn' | undefined;
}

const NOTHING: TroubleChange = { resolvedTo: undefined, began: undefined };

/** Finds when a trouble of a Lease begins, and when its candidates agree again: each is told once. */
export class TroubleWatch {
  /** The trouble that was last told of each Lease. */
  readonly #told = new Map<string, string>();
  /** Leases whose candidates disagree, as far as was told. */
  readonly #conflicting = new Set<string>();

  decided(key: string, { reason, outcome, conflict = '' }: Decision): TroubleChange {
    if (isStep(reason)) return NOTHING;
    let resolvedTo: string | undefined;
    if (reason === 'StrategyConflict') this.#conflicting.add(key);
    else if ('strategy' in outcome && this.#conflicting.delete(key)) resolvedTo = outcome.strategy;
    const level = troubleLevel(reason);
    const trouble = `${reason} ${conflict}`;
    const isNew = level !== undefined && this.#told.get(key) !== trouble;
    if (level === undefined) this.#told.delete(key);
    else this.#told.set(key, trouble);
    return { resolvedTo, began: isNew ? level : undefined };
  }

  /** The Lease was given to somebody: should the same trouble come again, it is another one. */
  granted(key: string): void {
    this.#told.delete(key);
  }

  forgotten(key: string): void {
    this.#told.delete(key);
    this.#conflicting.delete(key);
  }
}

/** `PingCandidate a`, `UpdateLease grant`, `CreateLease` */
export function describeAction(action: Action): string {
  if ('name' in action) return `${action.kind} ${action.name}`;
  return action.kind === 'UpdateLease' ? `${action.kind} ${action.change.kind}` : action.kind;
}

function elects(decision: Decision): boolean {
  return grantOf(decision) !== undefined || preferredBy(decision) !== undefined;
}

function vacantSince(input: ElectionInput, at: Instant): Instant | undefined {
  return unledSince(input, surveyTenure(input, at));
}
