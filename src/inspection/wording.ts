import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Reason } from '../election/decision.ts';
import type { Priority } from '../election/model.ts';
import type { CandidateState, Standing } from '../election/view.ts';

/** The coordinator's next step for each of these reasons. If such a reason lasts, probably no coordinator is running. */
const nextSteps = {
  LeaseMissing: 'create it',
  LeaseExpired: 'give it to a new holder',
  LeaseReleased: 'give it to a new holder',
  HolderEnded: 'give it to a new holder',
  FormerHolderAnswered: 'give it back to its last holder',
  GrantRevised: 'give it to another candidate',
  BetterCandidate: 'prefer the better candidate',
  HolderUnaware: 'fence it',
  PreferredHolderLeads: 'remove preferredHolder',
  PreferredHolderGone: 'remove preferredHolder',
  PreferredHolderSilent: 'remove preferredHolder',
  PreferredHolderNotBest: 'remove preferredHolder',
  StrategyChanged: 'write the new strategy',
} satisfies Partial<Record<Reason, string>>;

/** For each of the other reasons: what the Lease waits for. Undefined if it waits for nothing. */
const awaited: Readonly<Record<Exclude<Reason, keyof typeof nextSteps>, string | undefined>> = {
  FirstElectionSettling: 'more first candidates, at most for the settle time',
  RevisionPending: 'more candidates, for a second or two',
  LeaderOptimal: undefined,
  PreemptionPending: 'the holder to let it expire',
  PreemptionBackoff: 'the end of the backoff after a failed preemption',
  HolderHidden: 'the API server to serve the LeaseCandidate of its holder again, or the holder to stop',
  WritesIgnored: 'the end of the backoff before the next write',
  HolderLate: 'the holder to renew it, or its expiry',
  AwaitingAcks: 'candidates to answer',
  AwaitingFormerHolder: 'its last holder to answer, because that one may still believe that it leads',
  LeaseFenced: 'the end of the fence: its former holder may still believe that it leads',
  PlainElector: undefined,
  NoCandidates: 'candidates',
  NoLiveCandidates: 'a candidate to answer or renew',
  NoElectableCandidates: 'a candidate that can lead',
  StrategyConflict: 'the candidates to agree on a strategy',
  ThirdPartyStrategy: "another controller, which applies the Lease's strategy",
  InvalidLeaseName: 'candidates with another leaseName',
  CoordinatorLease: undefined,
};

/** Returns the end of the sentence "the Lease waits for ..."; undefined if the Lease waits for nothing. */
export function waitsFor(reason: Reason): string | undefined {
  return reason in nextSteps
    ? `the coordinator to ${nextSteps[reason as keyof typeof nextSteps]}`
    : awaited[reason as keyof typeof awaited];
}

/** Advice for reasons that are normal during an election, but show a problem if a Lease has them for long. */
const lastingAdvice: Readonly<Partial<Record<Reason, string>>> = {
  AwaitingAcks: 'If this lasts longer than a few seconds, no coordinator is running: run doctor.',
  PreemptionPending:
    'If this lasts more than a minute, the holder does not honour preferredHolder: restart it.',
};

const advice: Readonly<Partial<Record<Reason, string>>> = {
  PreemptionBackoff: 'Find out why the better candidate does not keep running.',
  HolderHidden:
    'Find out why the API server no longer serves LeaseCandidates of that group: doctor says which it serves.',
  PreferredHolderSilent: 'Check the log of the preferred candidate.',
  WritesIgnored: 'Make the holder a candidate, with an elector of client-go 0.31 or newer.',
  HolderLate: 'Check the log of the holder.',
  LeaseFenced:
    'Wait: explain says for how long. If it is fenced again and again, find out why its candidates change.',
  NoCandidates:
    "Check that the program runs and publishes its LeaseCandidate. If it elects its leader by itself, as with client-go's plain elector, no coordinator chooses the leader: look at the logs of its pods.",
  NoLiveCandidates:
    'Check whether the processes of the candidates run and reach the API server. A candidate must also name a strategy and a valid binaryVersion.',
  NoElectableCandidates:
    'Set binaryVersion and emulationVersion of the candidates to semantic versions such as 1.36.0.',
  StrategyConflict:
    'Make all candidates with the highest binaryVersion ask for one strategy, or remove the others.',
  ThirdPartyStrategy:
    'Check that the controller for this strategy runs, or make the candidates ask for OldestEmulationVersion.',
  InvalidLeaseName:
    'Give the candidates a leaseName of at most 253 lower-case letters, digits, "-" and ".", which begins and ends with a letter or digit.',
};

/** Returns advice about a reason; undefined if the user need not do anything. */
export function adviceOn(reason: Reason): string | undefined {
  const isNextStep = reason in nextSteps;
  const lasting = isNextStep
    ? 'If this lasts, no coordinator is running: run doctor.'
    : lastingAdvice[reason];
  return advice[reason] ?? lasting;
}

/** Returns advice about a reason that the command `doctor` reports; undefined for all other reasons. */
export function adviceOnTrouble(reason: Reason): string | undefined {
  return advice[reason];
}

/** Texts beside the name of a holder that does not lead. The key is the reason why the Lease is vacant. */
export const vacancyNotes: Readonly<Partial<Record<Reason, string>>> = {
  LeaseExpired: 'expired',
  HolderEnded: 'ended',
  LeaseFenced: 'fenced',
  GrantRevised: 'has not taken it up',
};

export const stateTexts: Readonly<Record<CandidateState, string>> = {
  Live: 'takes part',
  Awaiting: 'was pinged and has not answered yet',
  Idle: 'valid; is pinged before it can lead',
  Lapsed: 'got the Lease and did not renew it; elected only if no other candidate can lead',
  Withdrawn: 'has just released the Lease; elected only if no other candidate can lead',
  Unresponsive: 'did not answer its ping; cannot lead until it renews',
  Expired: 'has not renewed for too long; cannot lead until it renews',
  Deleting: 'is being deleted',
};

/** Explains the values of `CandidateAccount.lostBy`. */
export const lossTexts: Readonly<Record<string, string>> = {
  ...stateTexts,
  LowerPriority: 'its priority is lower',
  HigherEmulationVersion: 'its emulationVersion is higher',
  HigherBinaryVersion: 'its binaryVersion is higher',
  LowerEmulationVersion: 'its emulationVersion is lower',
  LowerBinaryVersion: 'its binaryVersion is lower',
  CreatedLater: 'it was created later',
  LaterName: 'its name comes later',
  NotElectable: 'a version is missing or cannot be read',
  AsGoodAsHolder: 'not better than the holder in priority or version',
  NotChosen: 'another was chosen',
  conflict: 'the candidates disagree on the strategy',
  thirdParty: 'another controller decides under this strategy',
  noneElectable: 'a version is missing or cannot be read',
  none: 'no candidate that takes part names a strategy and a valid binaryVersion',
};

export function describeLoss(lostBy: string): string {
  return lossTexts[lostBy] ?? lostBy;
}

/** Returns the time at which a priority ends, in RFC 3339 with whole seconds; undefined if the priority does not end. */
export function endOf({ end }: Priority): string | undefined {
  return end && formatMicroTime(end.at).replace(/\.\d+Z$/, 'Z');
}

/** Returns a text such as `5` or `-1000 until 2026-11-22T23:10:00Z`. */
export function describePriority(value: number, until: string | undefined): string {
  return until === undefined ? String(value) : `${value} until ${until}`;
}

/** Returns the priorities that have an end or are not 0, highest first, each with the number of its candidates. */
export function countPriorities(standings: readonly Standing[]) {
  const set = standings
    .map(({ candidate: { priority } }) => ({ value: priority.value, until: endOf(priority) }))
    .filter(({ value, until }) => value !== 0 || until !== undefined);
  const groups = Map.groupBy(set, ({ value, until }) => describePriority(value, until));
  return [...groups.values()]
    .flatMap((those) => those.slice(0, 1).map((one) => ({ ...one, candidates: those.length })))
    .sort((a, b) => b.value - a.value);
}

/** Returns a text such as `1 Lease` or `2 Leases`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns a text such as `a`, `a and b` or, for more than three names, `a, b and 3 more`. */
export function listed(names: readonly string[]): string {
  if (names.length > 3) return `${names.slice(0, 2).join(', ')} and ${names.length - 2} more`;
  return names.join(', ').replace(/, (?=[^,]*$)/, ' and ');
}
