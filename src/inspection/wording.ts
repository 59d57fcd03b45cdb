import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Reason } from '../election/decision.ts';
import type { LeaseCandidate, Priority } from '../election/model.ts';
import type { CandidateState, Standing } from '../election/view.ts';

/** What a reason means for an operator. `REASONS` explains the reason itself. */
interface ReasonText {
  /** Completes "the Lease waits for ..."; undefined if it waits for nothing. */
  readonly waitsFor: string | undefined;
  /** Advice; undefined if there is nothing to do. */
  readonly advice: string | undefined;
}

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
  HolderEnded: {
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

export const stateTexts: Readonly<Record<CandidateState, string>> = {
  Live: 'takes part',
  Awaiting: 'was pinged and has not answered yet',
  Idle: 'valid; pinged before it is trusted',
  Lapsed: 'was given the Lease and did not take it up; only if nobody else can lead',
  Withdrawn: 'has just released the Lease; only if nobody else can lead',
  Unresponsive: 'did not answer its ping; takes no part until it renews',
  Expired: 'has not renewed for too long; takes no part until it renews',
  Deleting: 'is being deleted',
};

const LOSSES: Readonly<Record<string, string>> = {
  LowerPriority: 'its priority is lower',
  HigherEmulationVersion: 'its emulationVersion is higher',
  HigherBinaryVersion: 'its binaryVersion is higher',
  LowerEmulationVersion: 'its emulationVersion is lower',
  LowerBinaryVersion: 'its binaryVersion is lower',
  CreatedLater: 'it was created later',
  LaterName: 'its name comes later',
  NotElectable: 'a version is missing or cannot be read',
  AsGoodAsHolder: 'no better than the holder in what a leader gives way for',
  NotChosen: 'another was chosen',
  conflict: 'the candidates disagree on the strategy',
  thirdParty: 'another controller decides under this strategy',
  noneElectable: 'a version is missing or cannot be read',
};

/** Explanations of all values of `CandidateAccount.lostBy`. */
export const lossTexts: Readonly<Record<string, string>> = { ...stateTexts, ...LOSSES };

/** Explains a value of `CandidateAccount.lostBy`. */
export function describeLoss(lostBy: string): string {
  return lossTexts[lostBy] ?? lostBy;
}

/** `binary 1.36.0, emulation 1.35.0` */
export function describeVersions({ binaryVersion, emulationVersion }: LeaseCandidate): string {
  return `binary ${binaryVersion ?? 'none'}, emulation ${emulationVersion ?? 'none'}`;
}

/** A priority, and the number of candidates that have it. */
export interface PriorityCount {
  readonly value: number;
  /** The end, in RFC 3339; undefined if it has none. */
  readonly until: string | undefined;
  readonly candidates: number;
}

/** Returns the end of a priority, in RFC 3339 to the second; undefined if it has none. */
export function endOf({ end }: Priority): string | undefined {
  return end && formatMicroTime(end.at).replace(/\.\d+Z$/, 'Z');
}

/** `5`, `-1000 until 2026-11-22T23:10:00Z` */
export function describePriority(value: number, until: string | undefined): string {
  return until === undefined ? String(value) : `${value} until ${until}`;
}

/** True when a priority is not 0, or has an end. */
export function isPrioritySet({
  value,
  until,
}: {
  readonly value: number;
  readonly until?: string | undefined;
}) {
  return value !== 0 || until !== undefined;
}

/** Counts the priorities that are set, highest first. */
export function countPriorities(standings: readonly Standing[]): readonly PriorityCount[] {
  const set = standings
    .map(({ candidate: { priority } }) => ({ value: priority.value, until: endOf(priority) }))
    .filter(isPrioritySet);
  const groups = Map.groupBy(set, ({ value, until }) => describePriority(value, until));
  return [...groups.values()]
    .flatMap((those) => those.slice(0, 1).map((one) => ({ ...one, candidates: those.length })))
    .sort((a, b) => b.value - a.value);
}

/** `1 Lease`, `2 Leases` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** `a`, `a and b`, `a, b and 3 more` */
export function listed(names: readonly string[]): string {
  if (names.length > 3) return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
  return names.join(', ').replace(/, (?=[^,]*$)/, ' and ');
}
