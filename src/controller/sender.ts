import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import { decodeLease, FIELD_MANAGER } from '../coordination/lease.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import { leasePatch, newLease, pingPatch, type RequestBody } from '../coordination/lease-patch.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { type Action, type Decision, isLeaseWrite } from '../election/decision.ts';
import type { CandidateSource, ElectionSettings } from '../election/model.ts';
import type { WrittenLease } from '../election/notes.ts';
import type { ElectionInput } from '../election/view.ts';
import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import { ApiError, ConnectionError, isConflict } from '../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ObserveController } from './controller-event.ts';
import type { ElectionRecords } from './election-records.ts';
import { LONGEST_WRITE_MS } from './lock/lock-settings.ts';
import {
  type AwaitedAnswer,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
  type WriteGate,
  writtenBy,
} from './write-outcomes.ts';

export interface SenderParts {
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  readonly records: ElectionRecords;
  readonly gate: WriteGate;
  readonly writer: ActionWriter;
  /** Whether this replica may write now (rule 10). */
  readonly mayWrite: () => boolean;
  readonly observe: ObserveController;
}

interface Sent {
  readonly sentAt: Instant;
  readonly awaited: AwaitedAnswer;
}

/** Carries out single actions and records their results. */
export class Sender {
  readonly #parts: SenderParts;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Sends one action. Resolves to false after a timeout or an overload of the server. Never rejects. */
  async send(key: LeaseKey, action: Action, decision: Decision, input: ElectionInput): Promise<boolean> {
    const { clock, gate, records, settings, writer, observe, mayWrite } = this.#parts;
    const sentAt = clock.now();
    const sent = { sentAt, awaited: gate.expectAnswer(key, writtenBy(action)) };
    recordSending(records, key, action, settings, sentAt);
    const written = {
      type: 'written',
      key,
      action,
      decision: { ...decision, actions: [action] },
      input,
    } as const;
    try {
      if (!mayWrite()) throw new LockLostError();
      const answer = await writer.write(input.namespace, input.name, action);
      const lease = isLeaseWrite(action) && answer ? decodeLease(answer) : undefined;
      this.#succeeded(key, action, sent, lease && { before: input.lease, after: lease });
      observe({ ...written, error: undefined, lease });
      return true;
    } catch (error) {
      this.#failed(key, action, error, sent);
      observe({ ...written, error, lease: undefined });
      return error instanceof LockLostError || (error instanceof ApiError && !isOverload(error));
    }
  }

  #succeeded(key: LeaseKey, action: Action, { sentAt, awaited }: Sent, written?: WrittenLease): void {
    const { records, gate, clock } = this.#parts;
    recordSuccess(records, key, action, sentAt, clock.now(), written);
    gate.succeeded(key, writtenBy(action));
    const basis = basisOf(action);
    // If the server drops all written fields, the resourceVersion stays the same: there is no change to wait for.
    if (written?.after.resourceVersion === basis) gate.expectNothing(key, writtenBy(action), awaited);
    else gate.expectChange(key, writtenBy(action), awaited, basis);
  }

  #failed(key: LeaseKey, action: Action, error: unknown, { sentAt, awaited }: Sent): void {
    const { records, gate, clock } = this.#parts;
    const object = writtenBy(action);
    // A newer server may reject every change of a candidate as invalid, so the candidate can never answer. It
    // counts as pinged and becomes unresponsive. Otherwise its election would wait forever.
    const isDelivered = action.kind === 'PingCandidate' && isRefusedForGood(error);
    if (isDelivered) recordSuccess(records, key, action, sentAt, clock.now());
    else recordFailure(records, key, action, sentAt, clock.now());
    if (isNeverExecuted(error)) recordRefusal(records, key, action);
    const floorMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    gate.failed(key, object, floorMs, isConflict(error));
    if (isConflict(error)) gate.expectChange(key, object, awaited, basisOf(action));
    else gate.expectNothing(key, object, awaited);
  }
}

/** The resourceVersion that the action is based on; undefined for a new Lease. */
function basisOf(action: Action): string | undefined {
  return action.kind === 'CreateLease' ? undefined : action.resourceVersion;
}

/** The lock was lost, or may have been lost, between the decision and the write. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';

  constructor() {
    super('the coordinator lock was lost before the write');
  }
}

/** True if it is certain that the server has not carried out the failed action and never will. */
function isNeverExecuted(error: unknown): boolean {
  const isNeverSent = error instanceof ConnectionError && error.code === 'ECONNREFUSED';
  return error instanceof LockLostError || isNeverSent || (error instanceof ApiError && error.status < 500);
}

function isRefusedForGood(error: unknown): boolean {
  return error instanceof ApiError && [400, 403, 413, 422].includes(error.status);
}

/** Whether the server is overloaded or broken. */
function isOverload({ status }: ApiError): boolean {
  return status === 429 || status >= 500;
}

/** Sends actions to the server. Every write names the resourceVersion of its decision (rule 8). */
export interface ActionWriter {
  /** Resolves to the written object. Rejects as the client does. */
  write(namespace: string, leaseName: string, action: Action): Promise<KubernetesObject | undefined>;
}

/** @param apiVersionOf returns the served apiVersion of a source's candidates */
export function createActionWriter(
  client: KubernetesClient,
  apiVersionOf: (source: CandidateSource) => CandidateApiVersion | undefined,
): ActionWriter {
  return {
    async write(namespace, leaseName, action) {
      const request = requestFor(namespace, leaseName, action, apiVersionOf);
      const answer = await client.request({ ...request, deadlineMs: LONGEST_WRITE_MS });
      return isKubernetesObject(answer) ? answer : undefined;
    },
  };
}

function requestFor(
  namespace: string,
  leaseName: string,
  action: Action,
  apiVersionOf: (source: CandidateSource) => CandidateApiVersion | undefined,
): ApiRequest {
  const candidate = ({ source, name }: { readonly source: CandidateSource; readonly name: string }) => {
    const apiVersion = apiVersionOf(source);
    if (apiVersion === undefined)
      throw new Error(`no version of ${source} LeaseCandidates is served any more`);
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
