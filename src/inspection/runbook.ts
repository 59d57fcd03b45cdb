import type { Reason } from '../election/reason.ts';
import type { Right } from './rights.ts';

/** The alerts that have a runbook, by its name. */
export const runbooks = [
  'LeaseWithoutLeader',
  'LeaseStrategyConflict',
  'LeaseCandidatesUnresponsive',
  'LeaseCoordinatorAbsent',
  'LeaseCoordinatorLockFlapping',
  'LeaseCoordinatorNotAlone',
  'LeaseCoordinatorWriteErrors',
  'LeaseCoordinatorWatchStale',
  'LeaseElectionsSlow',
  'LeaseApiServerSlow',
] as const;

/** The name of an alert, which is that of its runbook. */
export type RunbookName = (typeof runbooks)[number];

/** Where a runbook is, from the root of this repository: what the alert's `runbook_url` says too. */
export function runbookPath(name: RunbookName): string {
  return `docs/runbooks/${name}.md`;
}

/** What helps with Leases whose election is held up; undefined where no alert is about that. */
export function runbookForReason(reason: Reason, isLed: boolean): string | undefined {
  if (reason === 'StrategyConflict') return runbookPath('LeaseStrategyConflict');
  return isLed ? undefined : runbookPath('LeaseWithoutLeader');
}

/** What the lack of rights leads to: a coordinator that sees nothing, or else one whose writes are refused. */
export function runbookForMissing(rights: readonly Right[]): string {
  const isBlind = rights.some(
    ({ verb, name }) => name === undefined && (verb === 'list' || verb === 'watch'),
  );
  return runbookPath(isBlind ? 'LeaseCoordinatorWatchStale' : 'LeaseCoordinatorWriteErrors');
}
