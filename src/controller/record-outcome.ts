import { recordPing } from '../election/candidate-observation.ts';
import type { Action, Decision, LeaseChange } from '../election/decision.ts';
import { grantIn } from '../election/decision-result.ts';
import {
  recordConflict,
  recordGrant,
  recordIgnoredWrite,
  recordPreferenceRemoved,
  recordRound,
  recordWriting,
  recordWritten,
} from '../election/lease-memory.ts';
import type { ElectionSettings, Lease } from '../election/model.ts';
import type { Instant } from '../election/time.ts';
import type { ElectionRecords } from './election-records.ts';
import type { LeaseKey } from './lease-key.ts';

/** Notes what a decision is about to do, before any of it is sent: its effects may be seen before its answers. */
export function recordIntent(
  records: ElectionRecords,
  key: LeaseKey,
  decision: Decision,
  settings: ElectionSettings,
  at: Instant,
): void {
  const { conflict } = decision;
  if (decision.isRound) records.updateMemory(key, (memory) => recordRound(memory, at));
  if (conflict !== undefined) records.updateMemory(key, (memory) => recordConflict(memory, conflict));
  for (const action of decision.actions) {
    if (action.kind === 'PingCandidate') {
      records.updateObservation(key, action, (known) => recordPing(known, action.purpose, at, settings));
    } else if (action.kind === 'UpdateLease') {
      records.updateMemory(key, recordWriting);
    }
  }
}

/** Notes that a ping was not sent after all. */
export function recordPingNotSent(
  records: ElectionRecords,
  key: LeaseKey,
  action: Extract<Action, { kind: 'PingCandidate' }>,
  sentAt: Instant,
): void {
  records.updateObservation(key, action, (known) =>
    known.ping?.sentAt === sentAt && known.ping.ackedAt === undefined ? { ...known, ping: undefined } : known,
  );
}

/** Notes that a candidate was not deleted after all. */
export function recordDeletionFailed(
  records: ElectionRecords,
  key: LeaseKey,
  action: Extract<Action, { kind: 'DeleteCandidate' }>,
  at: Instant,
): void {
  records.updateObservation(key, action, (known) => ({ ...known, deletionFailedAt: at }));
}

/** Notes what a write to the Lease has come to; `answer` is the Lease as the server has it now. */
export function recordLeaseWritten(
  records: ElectionRecords,
  key: LeaseKey,
  action: Extract<Action, { kind: 'CreateLease' | 'UpdateLease' }>,
  answer: Lease,
  at: Instant,
): void {
  const grant = grantIn(action);
  if (grant) records.updateMemory(key, (memory) => recordGrant(memory, grant, at));
  const change = action.kind === 'UpdateLease' ? action.change : undefined;
  if (change?.kind === 'unprefer') {
    records.updateMemory(key, (memory) => recordPreferenceRemoved(memory, change.hasFailed, at));
  }
  if (change?.kind !== 'prefer' && change?.kind !== 'strategy') return;
  records.updateMemory(key, (memory) =>
    isKept(change, answer)
      ? recordWritten(memory, writtenFields(change), at)
      : recordIgnoredWrite(memory, at),
  );
}

type PreferOrStrategy = Extract<LeaseChange, { kind: 'prefer' | 'strategy' }>;

/** A server whose feature gate is off accepts the fields and drops them (rule 7). */
function isKept(change: PreferOrStrategy, answer: Lease): boolean {
  if (answer.strategy !== change.strategy) return false;
  return change.kind === 'strategy' || answer.preferredHolder === change.preferredHolder;
}

function writtenFields({ strategy, ...change }: PreferOrStrategy) {
  return change.kind === 'prefer' ? { strategy, preferredHolder: change.preferredHolder } : { strategy };
}
