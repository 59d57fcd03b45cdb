import type { LeaseKey } from '../coordination/lease-key.ts';
import { recordPing, recordPingDelivered, recordPingNotSent } from '../election/candidate-observation.ts';
import type { Action, Decision, LeaseChange, PingCandidate } from '../election/decision.ts';
import { grantIn } from '../election/decision-queries.ts';
import type { ElectionSettings, Lease } from '../election/model.ts';
import {
  recordAsked,
  recordAsking,
  recordConflict,
  recordGrantAnswered,
  recordGrantRefused,
  recordGrantSent,
  recordIgnoredWrite,
  recordPreferenceRemoved,
  recordRound,
  recordRoundInVain,
  recordWriting,
  recordWritten,
} from '../election/record-writes.ts';
import type { Instant } from '../election/time.ts';
import type { ElectionRecords } from './election-records.ts';

/** Notes a decision that is acted upon, even if there is nothing to write. */
export function recordDecision(
  records: ElectionRecords,
  key: LeaseKey,
  { conflict, isRound, isAsking }: Decision,
  at: Instant,
): void {
  if (isRound) records.updateMemory(key, (memory) => recordRound(memory, at));
  if (conflict !== undefined) records.updateMemory(key, (memory) => recordConflict(memory, conflict));
  records.updateMemory(key, (memory) => recordAsking(memory, isAsking));
}

/** Notes an action before it is sent: its effects may be seen before its answer. */
export function recordSending(
  records: ElectionRecords,
  key: LeaseKey,
  action: Action,
  settings: ElectionSettings,
  at: Instant,
): void {
  if (action.kind === 'PingCandidate') {
    records.updateObservation(key, action, (known) => recordPing(known, action.purpose, at, settings));
  }
  if (action.kind === 'UpdateLease') records.updateMemory(key, recordWriting);
  const grant = grantIn(action);
  if (grant) records.updateMemory(key, (memory) => recordGrantSent(memory, grant));
}

/** Notes that the server has answered a ping: its time runs from now on. */
export function recordDelivered(
  records: ElectionRecords,
  key: LeaseKey,
  ping: PingCandidate,
  sentAt: Instant,
  at: Instant,
): void {
  records.updateObservation(key, ping, (known) => recordPingDelivered(known, sentAt, at));
  if (ping.purpose !== 'validity' && ping.purpose !== 'collection')
    records.updateMemory(key, (memory) => recordAsked(memory, at));
}

/** Notes that a ping was not sent after all; where that was one of a round, the next round is due soon. */
export function recordNotSent(
  records: ElectionRecords,
  key: LeaseKey,
  ping: PingCandidate,
  sentAt: Instant,
): void {
  records.updateObservation(key, ping, (known) => recordPingNotSent(known, sentAt));
  if (ping.purpose === 'revival') records.updateMemory(key, (memory) => recordRoundInVain(memory, sentAt));
}

/** Notes that somebody else wrote first, so that an action was refused for good. */
export function recordRefused(records: ElectionRecords, key: LeaseKey, action: Action): void {
  const grant = grantIn(action);
  if (grant) records.updateMemory(key, (memory) => recordGrantRefused(memory, grant));
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
  if (grant)
    records.updateMemory(key, (memory) => recordGrantAnswered(memory, grant, answer.resourceVersion, at));
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

/** A server whose feature gate is off accepts the fields and drops those that the Lease does not have yet (rule 7). */
function isKept(change: PreferOrStrategy, answer: Lease): boolean {
  if (answer.strategy !== change.strategy) return false;
  return change.kind === 'strategy' || answer.preferredHolder === change.preferredHolder;
}

function writtenFields({ strategy, ...change }: PreferOrStrategy) {
  return change.kind === 'prefer' ? { strategy, preferredHolder: change.preferredHolder } : { strategy };
}
