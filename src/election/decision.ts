import type { PingPurpose } from './candidate-observation.ts';
import type { Grant } from './lease-memory.ts';
import type { Instant, LeaseCandidate, MicroTime } from './model.ts';
import type { Outcome } from './outcome.ts';
import { firstOf, strategies } from './strategies.ts';
import type { Standing, Tenure } from './view.ts';

/** The candidate on which an action is based. If its uid or resourceVersion has changed, the server refuses the write. */
type CandidateVersion = Pick<LeaseCandidate, 'source' | 'name' | 'uid' | 'resourceVersion'>;

/** Asks a candidate for a sign of life: writes its pingTime. */
export interface PingCandidate extends CandidateVersion {
  readonly kind: 'PingCandidate';
  readonly pingTime: MicroTime;
  readonly purpose: PingPurpose;
}

/** Changes to the notes of a Lease (rule 14): null removes a note, an absent key keeps it. */
export interface NotesChange {
  readonly strategy?: string | null;
  readonly preferredHolder?: string | null;
}

/** Creates a missing Lease. Fails if the Lease exists already. */
export interface CreateLease {
  readonly kind: 'CreateLease';
  readonly strategy: string;
  /** An annotation that also stores the strategy, if the server drops the field `strategy` (rule 14). */
  readonly notes?: NotesChange;
  /** Undefined for a third-party strategy: the Lease is created without a holder. */
  readonly grant: Grant | undefined;
}

/** Changes some fields of a Lease. The server refuses the write if `resourceVersion` has changed. */
export interface UpdateLease {
  readonly kind: 'UpdateLease';
  readonly uid: string;
  readonly resourceVersion: string;
  readonly change: LeaseChange;
  readonly notes?: NotesChange;
}

/** What an UpdateLease changes. Each kind writes only the fields that its comment lists. */
export type LeaseChange =
  /** Removes preferredHolder, and writes all other fields of the spec. */
  | {
      readonly kind: 'grant';
      readonly grant: Grant;
      readonly leaseTransitions: number;
      readonly strategy: string;
    }
  /** Writes preferredHolder and strategy. The holder stays. */
  | { readonly kind: 'prefer'; readonly preferredHolder: string; readonly strategy: string }
  /** Makes the fence the holder (rule 14): writes holder, acquireTime, renewTime, duration and leaseTransitions. */
  | {
      readonly kind: 'fence';
      readonly renewTime: MicroTime;
      readonly leaseDurationSeconds: number;
      readonly leaseTransitions: number;
    }
  /** Writes holder '', acquireTime, renewTime and duration 1 after a plain elector has ended (rule 17). */
  | { readonly kind: 'release'; readonly renewTime: MicroTime }
  /** Removes preferredHolder. `hasFailed`: whether this counts as a failed preemption (rule 7). */
  | { readonly kind: 'clearPreferredHolder'; readonly hasFailed: boolean }
  /** Writes strategy. Depending on the flags, also adds holderIdentity '', and removes preferredHolder. */
  | {
      readonly kind: 'strategy';
      readonly strategy: string;
      readonly isHolderAbsent: boolean;
      readonly removesPreferredHolder: boolean;
    };

/** Deletes a candidate that has left its collection pings unanswered (rule 1). */
export interface DeleteCandidate extends CandidateVersion {
  readonly kind: 'DeleteCandidate';
}

export type Action = CreateLease | UpdateLease | PingCandidate | DeleteCandidate;

/** When to decide again (rule 9): only after a change, or also at a given time. */
export type Requeue = { readonly kind: 'awaitChange' } | { readonly kind: 'at'; readonly time: Instant };

export interface Decision {
  readonly reason: Reason;
  /** The write to the Lease comes first, because a new leader may wait for it. Pings follow, then deletions. */
  readonly actions: readonly Action[];
  readonly requeue: Requeue;
  /** If the holder renews in time and nothing else changes, the decision is valid until this time; Infinity: forever. */
  readonly steadyUntil: Instant;
  readonly tenure: Tenure;
  /** The result of an election among the candidates in state `Live`. */
  readonly outcome: Outcome;
  readonly standings: readonly Standing[];
  /** True if this decision counts as a round of pings. The pauses between rounds grow (rule 3). */
  readonly isRound: boolean;
  /** True while the waves of pings continue (rule 6). If false, the next election begins with the first wave. */
  readonly isAsking: boolean;
  /** Identifies the parties of a conflict, to report it only once. Set only if `reason` is `StrategyConflict`. */
  readonly conflict: string | undefined;
}

/** Every reason of a decision, with the text that explains it to users. */
export const REASONS = {
  // The Lease is granted (or, for a plain elector, emptied), because:
  LeaseMissing: 'There are candidates, but no Lease yet.',
  LeaseExpired: 'The Lease has expired: its holder has not renewed it in time.',
  LeaseReleased: 'The Lease has no holder.',
  HolderEnded: 'The status of the Pod shows that the process of the holder has ended.',
  FormerHolderAnswered:
    'The last holder may still believe that it leads and has answered, so it gets the Lease back.',
  GrantRevised:
    'The new holder has not taken the Lease up. It is gone, silent, late or held back, or there is a better candidate.',

  // The Lease is held (with WritesIgnored, it may be vacant), and:
  LeaderOptimal: 'The best candidate leads.',
  RevisionPending: 'The new holder has not taken the Lease up yet. A better candidate will get it soon.',
  BetterCandidate: 'A candidate that is better than the holder has answered.',
  PreemptionPending:
    'A better candidate is the preferredHolder: the holder stops renewing, and then that candidate gets the Lease.',
  PreemptionBackoff:
    'A better candidate waits: recent preemptions have failed, and the next one starts after a backoff.',
  HolderHidden:
    'The holder renews the Lease, but its LeaseCandidate is not visible: the API server no longer serves its API group.',
  HolderUnaware:
    'The holder keeps renewing although a note on the Lease names a better candidate, and the API server drops the field that the holder reads. A fence replaces the holder.',
  PreferredHolderLeads:
    'The preferred candidate holds the Lease. It does not renew the Lease while it is preferred.',
  PreferredHolderGone: 'The preferred candidate is gone, or no longer takes part.',
  PreferredHolderSilent: 'The preferred candidate no longer answers.',
  PreferredHolderNotBest: 'The preferred candidate is no longer the best, or is not better than the holder.',
  StrategyChanged:
    'The right candidate leads, but the Lease names another strategy than the candidates ask for.',
  WritesIgnored:
    'The holder, another client or the API server removes strategy and preferredHolder, or their notes, from the Lease. The next attempt comes after a backoff.',
  HolderLate:
    'The holder has missed renewals. Candidates are pinged before the expiry, so that the next holder is known then.',

  // No decision is possible yet:
  AwaitingAcks: 'The election waits for candidates that could change its result: they must answer a ping.',
  AwaitingFormerHolder:
    'The Lease was deleted or emptied, perhaps just before this coordinator started. No other candidate gets it while its last holder may still believe that it leads.',
  FirstElectionSettling:
    'The Lease has never had a holder. The coordinator waits for more candidates, at most for the settle time.',
  LeaseFenced:
    'A fence holds the Lease until its former holder can no longer believe that it leads: that holder does not read notes.',

  // No election is possible, or another controller decides:
  NoCandidates: 'There is no candidate for this Lease.',
  PlainElector:
    'The Lease has no candidates and asks for crash evidence: plain electors take it by themselves.',
  NoLiveCandidates: 'No candidate shows that it is alive, or no live candidate has a vote on the strategy.',
  NoElectableCandidates: 'No candidate has the semantic versions that the strategy needs.',
  StrategyConflict: 'Candidates ask for conflicting strategies.',
  ThirdPartyStrategy: 'This coordinator does not support the strategy: another controller decides.',
  InvalidLeaseName: 'No Lease can have the name that its candidates ask for.',
  CoordinatorLease: "The Lease is the coordinators' own lock. It has no elections.",
} as const satisfies Readonly<Record<string, string>>;

export type Reason = keyof typeof REASONS;

/** All reasons. Metrics need the list: they show zero for reasons that have not occurred. */
export const reasons = Object.keys(REASONS) as readonly Reason[];

export function isLeaseWrite(action: Action): action is CreateLease | UpdateLease {
  return action.kind === 'CreateLease' || action.kind === 'UpdateLease';
}

export function grantIn(action: Action): Grant | undefined {
  if (action.kind === 'CreateLease') return action.grant;
  return action.kind === 'UpdateLease' && action.change.kind === 'grant' ? action.change.grant : undefined;
}

export function grantOf({ actions }: Decision): Grant | undefined {
  return actions.map(grantIn).find((grant) => grant !== undefined);
}

export function preferredBy({ actions }: Decision): string | undefined {
  const changes = actions.map((action) => (action.kind === 'UpdateLease' ? action.change : undefined));
  return changes.find((change) => change?.kind === 'prefer')?.preferredHolder;
}

/** True if a decision writes the Lease or deletes a candidate. Ignores pings: they only ask for a sign of life. */
export function changesCluster({ actions }: Decision): boolean {
  return actions.some(({ kind }) => kind !== 'PingCandidate');
}

/** Returns the candidate that a decision chooses: new holder, else new preferredHolder, else leader of the outcome. */
function chosenBy(decision: Decision): string | undefined {
  const { outcome } = decision;
  const led = outcome.kind === 'leader' ? outcome.leader.name : undefined;
  return grantOf(decision)?.holder ?? preferredBy(decision) ?? led;
}

/**
 * Returns at most `most` candidates in this order: the chosen candidate, live candidates that can be elected, other
 * live candidates and the holder, all others. If the outcome has no leader, all live candidates rank equally.
 */
export function rankCandidates(decision: Decision, most = Number.POSITIVE_INFINITY): readonly Standing[] {
  const { outcome, standings } = decision;
  const chosen = chosenBy(decision);
  const order = outcome.kind === 'leader' ? strategies.get(outcome.strategy) : undefined;
  const placeOf = ({ state, isHolder, candidate }: Standing): number => {
    if (candidate.name === chosen) return 0;
    if (state === 'Live' && (order === undefined || order.isElectable(candidate))) return 1;
    return state === 'Live' || isHolder ? 2 : 3;
  };
  return firstOf(standings, most, (a, b) => {
    const place = placeOf(a);
    const difference = place - placeOf(b);
    if (difference !== 0) return difference;
    if (place === 1 && order) return order.compare(a.candidate, b.candidate);
    return a.candidate.name < b.candidate.name ? -1 : 1;
  });
}

/** One candidate of a decision, and why it lost, if it did. */
export interface CandidateAccount
  extends Pick<LeaseCandidate, 'name' | 'binaryVersion' | 'emulationVersion'> {
  readonly state: Standing['state'];
  /** Why the candidate lost, for example `LowerPriority` or its state; undefined for the chosen candidate. */
  readonly lostBy: string | undefined;
}

export function explainCandidates(decision: Decision): readonly CandidateAccount[] {
  const { outcome, standings } = decision;
  const chosen = chosenBy(decision);
  const winner = standings.find(({ candidate }) => candidate.name === chosen);
  const order = outcome.kind === 'leader' ? strategies.get(outcome.strategy) : undefined;

  /** True if the candidate may still answer, but loses because of its priority or versions, not its state (rule 5). */
  const isWorse = ({ candidate, state }: Standing): boolean =>
    (state === 'Idle' || state === 'Awaiting') &&
    winner !== undefined &&
    order?.isElectable(winner.candidate) === true &&
    order.isElectable(candidate) &&
    order.compareMerit(winner.candidate, candidate) < 0;
  const lostBy = (standing: Standing): string | undefined => {
    const { candidate, state } = standing;
    if (candidate.name === chosen) return undefined;
    if (state !== 'Live' && !isWorse(standing)) return state;
    if (!order || !winner) return outcome.kind;
    if (!order.isElectable(candidate)) return 'NotElectable';
    if (!order.isElectable(winner.candidate)) return 'NotChosen';
    if (order.compare(winner.candidate, candidate) < 0) return order.explain(winner.candidate, candidate);
    // A leader does not yield because of age or name or, under NewestVersion, because of a version (rule 5).
    return winner.isHolder ? 'AsGoodAsHolder' : 'NotChosen';
  };
  return standings.map((standing) => {
    const { name, binaryVersion, emulationVersion } = standing.candidate;
    return { name, binaryVersion, emulationVersion, state: standing.state, lostBy: lostBy(standing) };
  });
}
