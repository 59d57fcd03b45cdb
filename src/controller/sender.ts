import { decodeLease, FIELD_MANAGER } from '../coordination/lease.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import { leasePatch, newLease, pingPatch, type RequestBody } from '../coordination/lease-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { type Action, type Decision, isLeaseWrite, type PingCandidate } from '../election/decision.ts';
import type { ElectionInput } from '../election/view.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, hasStatus, isConflict, isUnsent } from '../kubernetes/errors.ts';
import { isKubernetesObject } from '../kubernetes/objects.ts';
import type { Clock } from '../support/clock.ts';
import type { ObserveController } from './controller-event.ts';
import type { ElectionRecords } from './election-records.ts';
import { LONGEST_WRITE_MS } from './lock/lock-settings.ts';
import type { CandidateSourcesWatch } from './watches.ts';
import {
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
  type WriteGate,
  writtenBy,
} from './write-outcomes.ts';

export interface SenderParts {
  readonly clock: Clock;
  readonly records: ElectionRecords;
  readonly gate: WriteGate;
  readonly write: ReturnType<typeof createActionWriter>;
  /** Whether this replica may write now (rule 10). */
  readonly mayWrite: () => boolean;
  readonly observe: ObserveController;
}

/**
 * Sends and records an action. Never rejects. Resolves to true after a success or a 4xx other than 429; to false after
 * 429, 5xx or without a valid answer; to undefined if this process did not try to send the action (`NotSentError`).
 */
export async function sendAction(
  { clock, gate, records, write, observe, mayWrite }: SenderParts,
  key: LeaseKey,
  action: Action,
  decision: Decision,
  input: ElectionInput,
): Promise<boolean | undefined> {
  const object = writtenBy(action);
  const baseVersion = action.kind === 'CreateLease' ? undefined : action.resourceVersion;
  const event = {
    type: 'written',
    key,
    action,
    decision: { ...decision, actions: [action] },
    input,
  } as const;
  const sentAt = clock.now();
  const awaited = gate.expectAnswer(key, object);
  recordSending(records, key, action, sentAt);
  try {
    if (!mayWrite()) throw new LockLostError();
    const answer = await write(input.namespace, input.name, action);
    const lease = isLeaseWrite(action) && answer ? decodeLease(answer) : undefined;
    const written = lease && { before: input.lease, after: lease };
    recordSuccess(records, key, action, sentAt, clock.now(), written);
    gate.succeeded(key, object);
    // If the server drops all written fields, the resourceVersion stays the same: there is no change to wait for.
    if (lease?.resourceVersion === baseVersion) gate.expectNothing(key, object, awaited);
    else gate.expectChange(key, object, awaited, baseVersion);
    observe({ ...event, error: undefined, lease });
    return true;
  } catch (error) {
    // The server may reject every ping to a candidate, for example as invalid. Count a rejected ping as delivered, so
    // that the candidate becomes unresponsive. Otherwise, the election would wait for an answer that cannot come.
    const isDelivered = action.kind === 'PingCandidate' && hasStatus(error, 400, 403, 413, 422);
    const record = isDelivered ? recordSuccess : recordFailure;
    record(records, key, action, sentAt, clock.now());
    if (isNeverExecuted(error)) recordRefusal(records, key, action);
    const floorMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    gate.failed(key, object, floorMs, isConflict(error));
    if (isConflict(error)) gate.expectChange(key, object, awaited, baseVersion);
    else gate.expectNothing(key, object, awaited);
    observe({ ...event, error, lease: undefined });
    if (error instanceof NotSentError) return undefined;
    return error instanceof ApiError && error.status !== 429 && error.status < 500;
  }
}

class NotSentError extends Error {
  override readonly name: string = 'NotSentError';
}

/** The lock was lost, or may have been lost, between the decision and the write. */
export class LockLostError extends NotSentError {
  override readonly name = 'LockLostError';

  constructor() {
    super('the coordinator lock was lost before the write');
  }
}

/** Returns true only if the server has refused or never got the action. Assumes that no proxy has sent it twice. */
function isNeverExecuted(error: unknown): boolean {
  const isRefused = error instanceof ApiError && error.status < 500;
  return error instanceof NotSentError || isUnsent(error) || isRefused;
}

export function createActionWriter(
  client: KubernetesClient,
  apiVersionOf: CandidateSourcesWatch['apiVersionOf'],
) {
  /**
   * Sends the write of an action. Resolves to the object in the answer, if there is one. The server refuses the write
   * if the object has changed since the decision (rule 8).
   */
  return async (namespace: string, leaseName: string, action: Action) => {
    const request = requestFor(namespace, leaseName, action, apiVersionOf);
    const answer = await client.request({ ...request, deadlineMs: LONGEST_WRITE_MS });
    return isKubernetesObject(answer) ? answer : undefined;
  };
}

function requestFor(
  namespace: string,
  leaseName: string,
  action: Action,
  apiVersionOf: CandidateSourcesWatch['apiVersionOf'],
): ApiRequest {
  const candidate = ({ source, name }: Pick<PingCandidate, 'source' | 'name'>) => {
    const apiVersion = apiVersionOf(source);
    if (apiVersion === undefined)
      throw new NotSentError(`no version of ${source} LeaseCandidates is served any more`);
    return resourcePaths.candidate(apiVersion, namespace, name);
  };
  switch (action.kind) {
    case 'CreateLease':
      return {
        method: 'POST',
        path: resourcePaths.leases(namespace),
        query: { fieldManager: FIELD_MANAGER },
        body: newLease(namespace, leaseName, action),
      };
    case 'UpdateLease':
      return mergePatch(resourcePaths.lease(namespace, leaseName), leasePatch(action));
    case 'PingCandidate':
      return mergePatch(candidate(action), pingPatch(action));
    case 'DeleteCandidate':
      return {
        method: 'DELETE',
        path: candidate(action),
        body: { preconditions: { uid: action.uid, resourceVersion: action.resourceVersion } },
      };
  }
}

function mergePatch(path: string, body: RequestBody): ApiRequest {
  return {
    method: 'PATCH',
    path,
    query: { fieldManager: FIELD_MANAGER },
    contentType: 'application/merge-patch+json',
    body,
  };
}
