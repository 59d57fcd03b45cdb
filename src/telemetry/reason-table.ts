import type { Reason } from '../election/reason.ts';

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
