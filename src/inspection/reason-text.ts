import type { Reason } from '../election/reason.ts';

/** What follows from a reason for whoever has to act on it; `REASONS` says what it means. */
export interface ReasonText {
  /** Completes "the Lease waits for ..."; undefined where it waits for nothing. */
  readonly waitsFor: string | undefined;
  /** What to do about it; undefined where nothing needs doing. */
  readonly advice: string | undefined;
}

/** For each reason that a decision can have. */
export const reasonTexts: Readonly<Record<Reason, ReasonText>> = {
  LeaseMissing: {
    waitsFor: 'the coordinator to create it',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  LeaseExpired: {
    waitsFor: 'the coordinator to give it to a new holder',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  LeaseReleased: {
    waitsFor: 'the coordinator to give it to a new holder',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  FormerHolderAnswered: {
    waitsFor: 'the coordinator to give it back to its last holder',
    advice: undefined,
  },
  GrantRevised: {
    waitsFor: 'the coordinator to give it to another candidate',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  FirstElectionSettling: {
    waitsFor: 'its first candidates to have appeared, for a second at the most',
    advice: undefined,
  },
  RevisionPending: {
    waitsFor: 'a second or two to pass, in which more candidates may come',
    advice: undefined,
  },
  LeaderOptimal: { waitsFor: undefined, advice: undefined },
  BetterCandidate: {
    waitsFor: 'the coordinator to prefer the better candidate',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreemptionPending: {
    waitsFor: 'the holder to let it run out',
    advice: 'If this lasts more than a minute, the holder does not honour preferredHolder: restart it.',
  },
  PreemptionBackoff: {
    waitsFor: 'some time to pass since the last preemption failed',
    advice: 'Look at why the better candidate does not keep running.',
  },
  HolderUnaware: {
    waitsFor: 'the coordinator to fence it',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  HolderHidden: {
    waitsFor: 'its LeaseCandidate to be served again, or the holder to stop',
    advice:
      'See why the API server no longer serves LeaseCandidates of that group: doctor says which it serves.',
  },
  PreferredHolderLeads: {
    waitsFor: 'the coordinator to remove preferredHolder',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreferredHolderGone: {
    waitsFor: 'the coordinator to remove preferredHolder',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  PreferredHolderSilent: {
    waitsFor: 'the coordinator to remove preferredHolder',
    advice: 'Look at the log of the preferred candidate.',
  },
  PreferredHolderNotBest: {
    waitsFor: 'the coordinator to remove preferredHolder',
    advice: 'If this lasts, no coordinator is at work: run doctor.',
  },
  StrategyChanged: {
    waitsFor: 'the coordinator to write the new strategy',
    advice: undefined,
  },
  WritesIgnored: {
    waitsFor: 'some time to pass before writing again',
    advice: 'Have the holder take part as a candidate, with an elector of client-go 0.31 or newer.',
  },
  HolderLate: {
    waitsFor: 'the holder to renew it, or its end',
    advice: 'Look at the log of the holder.',
  },
  AwaitingAcks: {
    waitsFor: 'candidates to answer',
    advice: 'If this lasts longer than a few seconds, no coordinator is at work: run doctor.',
  },
  AwaitingFormerHolder: {
    waitsFor: 'its last holder, who may still believe that it leads',
    advice: undefined,
  },
  LeaseFenced: {
    waitsFor: 'the time to pass in which its former holder may still believe that it leads',
    advice:
      'Wait: explain says for how long. If it is fenced again and again, look at why its candidates change.',
  },
  NoCandidates: {
    waitsFor: 'candidates',
    advice: 'Start the component with coordinated leader election; see that its LeaseCandidate is created.',
  },
  NoLiveCandidates: {
    waitsFor: 'a candidate to answer or renew',
    advice: 'See whether the processes behind the candidates run and reach the API server.',
  },
  NoElectableCandidates: {
    waitsFor: 'a candidate that can lead',
    advice: 'Set binaryVersion and emulationVersion of the candidates to semantic versions such as 1.36.0.',
  },
  StrategyConflict: {
    waitsFor: 'the candidates to agree on a strategy',
    advice:
      'Make those with the highest binaryVersion ask for one strategy, or remove those that are in the way.',
  },
  ThirdPartyStrategy: {
    waitsFor: "another controller, which carries out the Lease's strategy",
    advice:
      'See that the controller for this strategy runs; or have the candidates ask for OldestEmulationVersion.',
  },
  InvalidLeaseName: {
    waitsFor: 'candidates with another leaseName',
    advice:
      'Give the candidates a leaseName of lower-case letters, digits, "-" and ".", which begins and ends with a letter or digit and has 253 characters at the most.',
  },
  CoordinatorLease: {
    waitsFor: undefined,
    advice: undefined,
  },
};
