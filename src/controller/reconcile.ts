import type { Clock, Instant } from '../clock.ts';
import { decodeLease } from '../coordination/lease.ts';
import { decideElection } from '../election/decide.ts';
import type { Action, Decision } from '../election/decision.ts';
import type { ElectionSettings, Lease } from '../election/model.ts';
import type { ElectionInput } from '../election/survey.ts';
import { earliest } from '../election/time.ts';
import { ApiError } from '../kubernetes/errors.ts';
import type { ActionWriter } from './apply.ts';
import type { ElectionRecords } from './election-records.ts';
import type { LeaseKey } from './lease-key.ts';
import {
  recordDeletionFailed,
  recordIntent,
  recordLeaseWritten,
  recordPingNotSent,
} from './record-outcome.ts';
import type { WriteBarrier, WrittenObject } from './write-barrier.ts';

/** Told of every decision and of what became of it. */
export interface DecisionObserver {
  /** A decision was made, before anything of it is applied; `input` is what it was made on. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void;
  /** A write was answered, or not; `error` is undefined when it succeeded. */
  written(key: LeaseKey, action: Action, error: unknown, decision: Decision): void;
  /**
   * A decision was applied, but perhaps for some pings and deletions, which `decision` then lacks. `lease` is the Lease as
   * the server has it now, where the decision wrote it.
   */
  applied(key: LeaseKey, decision: Decision, input: ElectionInput, lease: Lease | undefined): void;
  /** There is neither a Lease of that name any more nor a candidate for it. */
  forgotten(key: LeaseKey): void;
}

/** What a reconcile works with. */
export interface ReconcilerParts {
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  readonly records: ElectionRecords;
  readonly barrier: WriteBarrier;
  /** Undefined in a dry run: decisions are made and reported, nothing is written. */
  readonly writer: ActionWriter | undefined;
  /** Whether this replica may write at this very moment (rule 10). */
  readonly mayWrite: () => boolean;
  readonly observer: DecisionObserver;
}

/** When to look at the Lease again, on the monotonic clock; undefined: when something about it changes. */
export type NextLook = Instant | undefined;

/** Gather, decide, apply: brings one Lease a step on. Never rejects for what a server may answer. */
export async function reconcile(key: LeaseKey, parts: ReconcilerParts): Promise<NextLook> {
  const { clock, records, barrier, observer } = parts;
  const input = records.gather(key);
  if (!input.lease && input.candidates.length === 0) {
    barrier.forget(key);
    observer.forgotten(key);
    return undefined;
  }
  if (!parts.mayWrite()) return undefined;
  const closedUntil = barrier.closedUntil(key);
  if (closedUntil !== undefined) return closedUntil;

  const decision = decideElection(input, { monotonic: clock.now(), wall: clock.wallTime() });
  observer.decided(key, decision, input);
  const again = decision.requeue.kind === 'at' ? decision.requeue.time : undefined;
  if (!parts.writer) return again;

  const { failures, lease } = await applyDecision(key, input, decision, parts.writer, parts);
  const failed = failures.map(({ action }) => action);
  if (!failed.some(isLeaseWrite)) {
    const actions = decision.actions.filter((action) => !failed.includes(action));
    observer.applied(key, { ...decision, actions }, input, lease);
  }
  // A candidate that cannot be deleted, perhaps for good, must not hold elections up; it is tried again in its own time.
  const repeated = failures.filter(({ action }) => action.kind !== 'DeleteCandidate');
  if (repeated.length === 0) {
    barrier.succeeded(key);
    // Should the watch never show a write, as what was written is gone again by the next list, time has to tell.
    return earliest([again, barrier.closedUntil(key)]);
  }
  const errors = repeated.map(({ error }) => error);
  const floorMs = Math.max(
    0,
    ...errors.map((error) => (error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0)),
  );
  return barrier.failed(key, floorMs, errors.every(isConflict));
}

interface Failure {
  readonly action: Action;
  readonly error: unknown;
}

async function applyDecision(
  key: LeaseKey,
  input: ElectionInput,
  decision: Decision,
  writer: ActionWriter,
  parts: ReconcilerParts,
): Promise<{ failures: readonly Failure[]; lease: Lease | undefined }> {
  const at = parts.clock.now();
  recordIntent(parts.records, key, decision, parts.settings, at);
  const failures: Failure[] = [];
  // All writes to one Lease are to different objects. They are sent at once, the Lease's first.
  const written = await Promise.all(
    decision.actions.map(async (action) => {
      try {
        const lease = await applyAction(key, input, action, writer, parts);
        parts.observer.written(key, action, undefined, decision);
        return lease;
      } catch (error) {
        if (action.kind === 'PingCandidate' && !isRefusedForGood(error)) {
          recordPingNotSent(parts.records, key, action, at);
        }
        if (action.kind === 'DeleteCandidate') recordDeletionFailed(parts.records, key, action, at);
        parts.observer.written(key, action, error, decision);
        failures.push({ action, error });
        return undefined;
      }
    }),
  );
  return { failures, lease: written.find((lease) => lease !== undefined) };
}

/** Resolves to the Lease as the server has it now, where it was written. */
async function applyAction(
  key: LeaseKey,
  input: ElectionInput,
  action: Action,
  writer: ActionWriter,
  { barrier, records, clock, mayWrite }: ReconcilerParts,
): Promise<Lease | undefined> {
  if (!mayWrite()) throw new LockLostError();
  const target: WrittenObject =
    action.kind === 'PingCandidate' || action.kind === 'DeleteCandidate'
      ? { kind: 'candidate', name: action.name }
      : { kind: 'lease' };
  const basedOn = action.kind === 'CreateLease' ? undefined : action.resourceVersion;
  try {
    const answer = await writer.write(input.namespace, input.name, action);
    const lease = isLeaseWrite(action) && answer ? decodeLease(answer) : undefined;
    if (isLeaseWrite(action) && lease) recordLeaseWritten(records, key, action, lease, clock.now());
    barrier.expectChange(key, target, basedOn);
    return lease;
  } catch (error) {
    if (isConflict(error)) barrier.expectChange(key, target, basedOn);
    throw error;
  }
}

function isLeaseWrite(action: Action): action is Extract<Action, { kind: 'CreateLease' | 'UpdateLease' }> {
  return action.kind === 'CreateLease' || action.kind === 'UpdateLease';
}

/** The lock went to somebody else, or may have, between the decision and the write. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';

  constructor() {
    super('the coordinator lock was lost before the write');
  }
}

/** Refused because the object is not as it was when it was decided on: changed, deleted, or created meanwhile. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (error.status === 409 || (error.status === 404 && error.reason === 'NotFound'))
  );
}

/**
 * A candidate that cannot be pinged, as a newer server's validation refuses every change of it, will never answer: it is
 * unresponsive like any other, else its election would wait for it for ever.
 */
function isRefusedForGood(error: unknown): boolean {
  return error instanceof ApiError && [400, 403, 413, 422].includes(error.status);
}
