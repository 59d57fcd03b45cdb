import type { LeaseCandidate } from '../election/model.ts';
import type { CandidateState } from '../election/standing.ts';

/** What each state means for whoever has to act on it. */
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

/** Every word that `CandidateAccount.lostBy` can be, with what it means. */
export const lossTexts: Readonly<Record<string, string>> = { ...stateTexts, ...LOSSES };

/** Why a candidate lost, in words; see `CandidateAccount.lostBy`. */
export function describeLoss(lostBy: string): string {
  return lossTexts[lostBy] ?? lostBy;
}

/** `binary 1.36.0, emulation 1.35.0` */
export function describeVersions({ binaryVersion, emulationVersion }: LeaseCandidate): string {
  return `binary ${binaryVersion ?? 'none'}, emulation ${emulationVersion ?? 'none'}`;
}
