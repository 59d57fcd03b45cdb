import type { Reason } from '../election/decision.ts';

/** What a reason means for whoever has to act on it. */
export interface ReasonText {
  /** Completes "the Lease waits for ..."; undefined where it waits for nothing. */
  readonly waitsFor: string | undefined;
  readonly meaning: string;
  /** What to do about it; undefined where nothing needs doing. */
  readonly advice: string | undefined;
}

/** In words, each reason that a decision can have. */
export const reasonTexts: Readonly<Record<Reason, ReasonText>> = {
  LeaseMissing: {
    waitsFor: 'the coordinator to create it',
    meaning: 'There are candidates, but no Lease yet.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  LeaseExpired: {
    waitsFor: 'the coordinator to give it to a new holder',
    meaning: 'The holder has let the Lease run out.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  LeaseReleased: {
    waitsFor: 'the coordinator to give it to a new holder',
    meaning: 'Nobody holds the Lease.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  FormerHolderAnswered: {
    waitsFor: 'the coordinator to give it back to its last holder',
    meaning: 'The last holder may still believe that it leads, and has answered.',
    advice: undefined,
  },
  GrantRevised: {
    waitsFor: 'the coordinator to give it to another candidate',
    meaning:
      'The Lease was given to a candidate that has not taken it up; that one is gone, or a better one has come.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  RevisionPending: {
    waitsFor: 'a second or two to pass, in which more candidates may come',
    meaning:
      'The new holder has not taken the Lease up yet, and a better candidate has come; it is about to get it.',
    advice: undefined,
  },
  LeaderOptimal: { waitsFor: undefined, meaning: 'The best candidate leads.', advice: undefined },
  BetterCandidate: {
    waitsFor: 'the coordinator to prefer the better candidate',
    meaning: 'A candidate that is better than the holder has answered.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreemptionPending: {
    waitsFor: 'the holder to let it run out',
    meaning:
      'The holder was told of a better candidate; it stops renewing, and that candidate gets the Lease.',
    advice: 'If this lasts more than a minute, the holder does not honour preferredHolder: restart it.',
  },
  PreemptionBackoff: {
    waitsFor: 'some time to pass since the last preemption failed',
    meaning: 'A better candidate was preferred before and did not take over.',
    advice: 'Look at why the better candidate does not keep running.',
  },
  PreferredHolderLeads: {
    waitsFor: 'the coordinator to remove preferredHolder',
    meaning: 'The preferred candidate holds the Lease, which it does not renew while it is preferred.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreferredHolderGone: {
    waitsFor: 'the coordinator to remove preferredHolder',
    meaning: 'The preferred candidate is gone, or does not count any more.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreferredHolderSilent: {
    waitsFor: 'the coordinator to remove preferredHolder',
    meaning: 'The preferred candidate does not answer any more.',
    advice: 'Look at the log of the preferred candidate.',
  },
  PreferredHolderNotBest: {
    waitsFor: 'the coordinator to remove preferredHolder',
    meaning: 'The preferred candidate is not the best one any more.',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  StrategyChanged: {
    waitsFor: 'the coordinator to write the new strategy',
    meaning: 'The right candidate leads, but the Lease names another strategy than the candidates ask for.',
    advice: undefined,
  },
  WritesIgnored: {
    waitsFor: 'some time to pass before writing again',
    meaning: 'The holder, or the server, drops strategy and preferredHolder from the Lease.',
    advice: 'Have the holder take part as a candidate; turn the feature gate CoordinatedLeaderElection on.',
  },
  HolderLate: {
    waitsFor: 'the holder to renew it, or its end',
    meaning:
      'The holder has missed renewals; the others are being asked, so that one is ready at the expiry.',
    advice: 'Look at the log of the holder.',
  },
  AwaitingAcks: {
    waitsFor: 'candidates to answer',
    meaning: 'Candidates that count must show that they are alive before anything is decided.',
    advice: 'If this lasts longer than a few seconds, no coordinator is at work: run doctor.',
  },
  AwaitingFormerHolder: {
    waitsFor: 'its last holder, who may still believe that it leads',
    meaning:
      'The Lease was deleted or emptied; until its time is over it may only go back to its last holder.',
    advice: undefined,
  },
  NoCandidates: {
    waitsFor: 'candidates',
    meaning: 'There is no candidate for this Lease.',
    advice: 'Start the component with coordinated leader election; see that its LeaseCandidate is created.',
  },
  NoLiveCandidates: {
    waitsFor: 'a candidate to answer or renew',
    meaning: 'No candidate shows that it is alive.',
    advice: 'See whether the processes behind the candidates run and reach the API server.',
  },
  NoElectableCandidates: {
    waitsFor: 'a candidate that can lead',
    meaning: 'No candidate has both versions that the strategy needs.',
    advice: 'Set binaryVersion and emulationVersion of the candidates to semantic versions such as 1.36.0.',
  },
  StrategyConflict: {
    waitsFor: 'the candidates to agree on a strategy',
    meaning: 'Candidates ask for strategies that cannot both be followed.',
    advice:
      'Make those with the highest binaryVersion ask for one strategy, or remove those that are in the way.',
  },
  ThirdPartyStrategy: {
    waitsFor: "another controller, which carries out the Lease's strategy",
    meaning: 'The strategy is not one that this coordinator carries out.',
    advice:
      'See that the controller for this strategy runs; or have the candidates ask for OldestEmulationVersion.',
  },
  InvalidLeaseName: {
    waitsFor: 'candidates with another leaseName',
    meaning: 'No Lease can have the name that its candidates ask for.',
    advice:
      'Give the candidates a leaseName of lower-case letters, digits, "-" and ".", which begins and ends with a letter or digit and has 253 characters at the most.',
  },
  CoordinatorLease: {
    waitsFor: undefined,
    meaning: "It is the coordinators' own lock, which is never coordinated.",
    advice: undefined,
  },
};
