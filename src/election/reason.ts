/**
 * Why a decision is what it is: each reason there is, and the sentence that explains it. Logs, metrics, Events, the
 * command line and the runbooks use these words, and explain a reason with this sentence and no other.
 */
export const REASONS = {
  // The Lease is given to somebody, because:
  LeaseMissing: 'There are candidates, but no Lease yet.',
  LeaseExpired: 'The Lease has expired: its holder has not renewed it in time.',
  LeaseReleased: 'The Lease has no holder.',
  FormerHolderAnswered:
    'The last holder may still believe that it leads, and has answered: it gets the Lease back.',
  GrantRevised:
    'The Lease was granted to a candidate that has not taken it up: that candidate is gone, silent or late, or a better one has come.',

  // The Lease is held, and:
  LeaderOptimal: 'The best candidate leads.',
  RevisionPending:
    'The new holder has not taken the Lease up yet, and a better candidate is about to get it.',
  BetterCandidate: 'A candidate that is better than the holder has answered.',
  PreemptionPending:
    'The holder was told of a better candidate: it stops renewing, and then that candidate gets the Lease.',
  PreemptionBackoff:
    'A better candidate waits: preemptions have failed of late, and the next one comes after a backoff.',
  HolderHidden:
    'The holder renews the Lease, but its LeaseCandidate is out of sight: the API server no longer serves those of its group.',
  HolderUnaware:
    'The holder renews on although a note on the Lease names a better candidate, and the API server drops the field that would tell it: a fence takes its place.',
  PreferredHolderLeads:
    'The preferred candidate holds the Lease, which it does not renew while it is preferred.',
  PreferredHolderGone: 'The preferred candidate is gone, or takes no part any more.',
  PreferredHolderSilent: 'The preferred candidate does not answer any more.',
  PreferredHolderNotBest: 'The preferred candidate is not the best any more, or no better than the holder.',
  StrategyChanged:
    'The right candidate leads, but the Lease names another strategy than the candidates ask for.',
  WritesIgnored:
    "The holder's renewals remove strategy and preferredHolder from the Lease, or something keeps even notes of them off it; the next attempt comes after a backoff.",
  HolderLate:
    'The holder has missed renewals: candidates are asked ahead of the expiry, so that the next holder is known by then.',

  // Nothing can be decided yet:
  AwaitingAcks: 'Candidates whose answers could decide the election have to answer a ping first.',
  AwaitingFormerHolder:
    'The Lease was deleted or emptied, or may have been right before this coordinator started: no other candidate gets it while its last holder may still believe that it leads.',
  FirstElectionSettling:
    'The Lease has never had a holder, and its candidates have only begun to appear: the best of those that come within a second gets it.',
  LeaseFenced:
    'A fence holds the Lease until its former holder, which could not be told to give way, cannot believe in it any more.',

  // Nobody can be elected, or it is not for us to do:
  NoCandidates: 'There is no candidate for this Lease.',
  NoLiveCandidates: 'No candidate shows that it is alive.',
  NoElectableCandidates:
    'No candidate that takes part has the two semantic versions that the strategy compares.',
  StrategyConflict: 'Candidates ask for strategies that cannot both be followed.',
  ThirdPartyStrategy: 'The strategy is not one that this coordinator carries out.',
  InvalidLeaseName: 'No Lease can have the name that its candidates ask for.',
  CoordinatorLease: "It is the coordinators' own lock, which is never coordinated.",
} as const satisfies Readonly<Record<string, string>>;

/** Why a decision is what it is. */
export type Reason = keyof typeof REASONS;

/** Every reason there is, so that what counts them can show zero for those that have not come up. */
export const reasons = Object.keys(REASONS) as readonly Reason[];
