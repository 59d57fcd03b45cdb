import type { LeaseKey } from '../coordination/lease-key.ts';
import type {
  Action,
  CreateLease,
  Decision,
  DeleteCandidate,
  PingCandidate,
  UpdateLease,
} from '../election/decision.ts';
import { isLeaseWrite } from '../election/decision-queries.ts';
import type { ElectionSettings, Lease } from '../election/model.ts';
import * as election from '../election/record-action.ts';
import type { Instant } from '../election/time.ts';
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

/** Notes that the server has answered a ping: its time runs from now on. */
export const recordDelivered = inRecords((known, ping: PingCandidate, sentAt: Instant, at: Instant) =>
  election.recordSuccess(known, ping, sentAt, at),
);

/** Notes what a write to the Lease has come to; `answer` is the Lease as the server has it now. */
export const recordLeaseWritten = inRecords(
  (known, action: CreateLease | UpdateLease, answer: Lease, at: Instant) =>
    election.recordSuccess(known, action, at, at, answer),
);

/** Notes that a ping was not sent after all; where that was one of a round, the next round is due soon. */
export const recordNotSent = inRecords((known, ping: PingCandidate, sentAt: Instant) =>
  election.recordFailure(known, ping, sentAt, sentAt),
);

/** Notes that a candidate was not deleted after all. */
export const recordDeletionFailed = inRecords((known, action: DeleteCandidate, at: Instant) =>
  election.recordFailure(known, action, at, at),
);

/** Notes that somebody else wrote first, so that an action was refused for good. */
export const recordRefused = inRecords(election.recordRefusal);

/** Has a function of the pure election change the records: it is given no more of them than the action is about. */
function inRecords<A extends Action, Rest extends readonly unknown[]>(
  record: (known: election.Known, action: A, ...rest: Rest) => election.Known,
) {
  return (records: ElectionRecords, key: LeaseKey, action: A, ...rest: Rest): void => {
    const candidate = isLeaseWrite(action) ? undefined : records.candidate(key, action.name);
    const observation = candidate && records.observation(key, candidate.name);
    const candidates = candidate && observation ? [{ candidate, observation }] : [];
    records.updateMemory(key, (memory) => {
      const known = record({ memory, candidates }, action, ...rest);
      for (const { candidate, observation } of known.candidates) {
        records.updateObservation(key, candidate, () => observation);
      }
      return known.memory;
    });
  };
}
