import type { LeaseKey } from '../coordination/lease-key.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import type { ElectionSettings, Instant } from '../election/model.ts';
import { hasDroppedFields, type WrittenLease } from '../election/notes.ts';
import * as election from '../election/record-action.ts';
import type { ElectionRecords } from './election-records.ts';

/** Notes a decision that is acted upon, even if there is nothing to write. */
export function recordDecision(
  records: ElectionRecords,
  key: LeaseKey,
  decision: Decision,
  at: Instant,
): void {
  records.updateMemory(
    key,
    (memory) => election.recordDecision({ memory, candidates: [] }, decision, at).memory,
  );
}

/** Notes an action before it is sent: its effects may be seen before its answer. */
export const recordSending = inRecords((known, action: Action, settings: ElectionSettings, at: Instant) =>
  election.recordSending({ ...known, settings }, action, at),
);

/** Notes that the server has answered that an action is done. */
export function recordSuccess(
  records: ElectionRecords,
  key: LeaseKey,
  action: Action,
  sentAt: Instant,
  at: Instant,
  written?: WrittenLease,
): void {
  recordAnswer(records, key, action, sentAt, at, written?.after);
  const hasDropped = written && hasDroppedFields(action, written);
  if (hasDropped !== undefined) records.seeFieldsDropped(hasDropped);
}

const recordAnswer = inRecords(election.recordSuccess);

/** Notes that an action has failed, or may have failed. */
export const recordFailure = inRecords(election.recordFailure);

/** Notes, beside its failure, that an action is known not to have been carried out. */
export const recordRefusal = inRecords(election.recordRefusal);

/**
 * Has a function of the pure election change the records: it is given no more of them than the action is about. An answer that
 * comes after the Lease was forgotten changes nothing: should it have written the Lease, that is seen as written by others.
 */
function inRecords<Rest extends readonly unknown[]>(
  record: (known: election.Known, action: Action, ...rest: Rest) => election.Known,
) {
  return (records: ElectionRecords, key: LeaseKey, action: Action, ...rest: Rest): void => {
    if (!records.has(key)) return;
    const observed = isLeaseWrite(action) ? undefined : records.observed(key, action.name, action.uid);
    const candidates = observed ? [observed] : [];
    records.updateMemory(key, (memory) => {
      const known = record({ memory, candidates }, action, ...rest);
      for (const { candidate, observation } of known.candidates) {
        records.updateObservation(key, candidate, () => observation);
      }
      return known.memory;
    });
  };
}
