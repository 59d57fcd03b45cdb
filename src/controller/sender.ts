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
import type { DecisionObserver } from './controller-parts.ts';
import type { ElectionRecords } from './election-records.ts';
import { LONGEST_WRITE_MS } from './lock/lock-settings.ts';
import type { WriteQueue } from './queue/write-queue.ts';
import {
  type AwaitedAnswer,
  recordFailure,
  recordRefusal,
  recordSending,
  recordSuccess,
  type WriteBackoff,
  type WriteExpectations,
  type WrittenObject,
  writtenBy,
} from './write-outcomes.ts';

/** What a {@link Sender} works with. */
export interface SenderParts {
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  readonly records: ElectionRecords;
  readonly expectations: WriteExpectations;
  readonly backoff: WriteBackoff;
  readonly writer: ActionWriter;
  /** Counts what is under way. */
  readonly writes: WriteQueue;
  /** Whether this replica may write at this very moment (rule 10). */
  readonly mayWrite: () => boolean;
  readonly observer: DecisionObserver;
  /** A request about the Lease, which was to write `object`, has ended, however. */
  readonly onEnded: (key: LeaseKey, object: WrittenObject) => void;
}

/** An action that was sent. */
interface Sent {
  readonly sentAt: Instant;
  readonly awaited: AwaitedAnswer;
}

/** Carries out single actions, and keeps the records of what came of them. */
export class Sender {
  readonly #parts: SenderParts;

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Sends one action. Never throws, whatever comes of it. */
  send(key: LeaseKey, action: Action, decision: Decision, input: ElectionInput): void {
    const { clock, writes, expectations, records, settings } = this.#parts;
    const sentAt = clock.now();
    const end = writes.begin(key);
    const awaited = expectations.expectAnswer(key, writtenBy(action));
    recordSending(records, key, action, settings, sentAt);
    void this.#carryOut(key, action, decision, input, { sentAt, awaited }).then((isAnswered) => {
      end(isAnswered);
      this.#parts.onEnded(key, writtenBy(action));
    });
  }

  /** Resolves to whether the server was up to it. */
  async #carryOut(
    key: LeaseKey,
    action: Action,
    decision: Decision,
    input: ElectionInput,
    sent: Sent,
  ): Promise<boolean> {
    const { writer, observer, mayWrite } = this.#parts;
    try {
      if (!mayWrite()) throw new LockLostError();
      const answer = await writer.write(input.namespace, input.name, action);
      const lease = isLeaseWrite(action) && answer ? decodeLease(answer) : undefined;
      this.#succeeded(key, action, sent, lease && { before: input.lease, after: lease });
      observer.written(key, action, undefined, decision);
      if (action.kind !== 'PingCandidate') {
        observer.applied(key, { ...decision, actions: [action] }, input, lease);
      }
      return true;
    } catch (error) {
      this.#failed(key, action, error, sent);
      observer.written(key, action, error, decision);
      return error instanceof LockLostError || (error instanceof ApiError && !isOverload(error));
    }
  }

  #succeeded(key: LeaseKey, action: Action, { sentAt, awaited }: Sent, written?: WrittenLease): void {
    const { records, expectations, backoff, clock } = this.#parts;
    recordSuccess(records, key, action, sentAt, clock.now(), written);
    backoff.succeeded(key, writtenBy(action));
    const basis = basisOf(action);
    // Where the server has dropped all that was written, there is nothing to be seen of it.
    if (written?.after.resourceVersion === basis) expectations.expectNothing(key, writtenBy(action), awaited);
    else expectations.expectChange(key, writtenBy(action), awaited, basis);
  }

  #failed(key: LeaseKey, action: Action, error: unknown, { sentAt, awaited }: Sent): void {
    const { records, expectations, backoff, clock } = this.#parts;
    const object = writtenBy(action);
    // One that cannot be pinged, as a newer server's validation refuses every change of it, will never answer: it is
    // unresponsive like any other, else its election would wait for it for ever.
    const isDelivered = action.kind === 'PingCandidate' && isRefusedForGood(error);
    if (isDelivered) recordSuccess(records, key, action, sentAt, clock.now());
    else recordFailure(records, key, action, sentAt, clock.now());
    if (isKnownUndone(error)) recordRefusal(records, key, action);
    const floorMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    backoff.failed(key, object, floorMs, isConflict(error));
    if (isConflict(error)) expectations.expectChange(key, object, awaited, basisOf(action));
    else expectations.expectNothing(key, object, awaited);
  }
}

/** The resourceVersion that an action was decided on; undefined for a Lease that did not exist. */
function basisOf(action: Action): string | undefined {
  return action.kind === 'CreateLease' ? undefined : action.resourceVersion;
}

/** The lock went to somebody else, or may have, between the decision and the write. */
export class LockLostError extends Error {
  override readonly name = 'LockLostError';

  constructor() {
    super('the coordinator lock was lost before the write');
  }
}

/** Whether an action that failed with `error` was not carried out, and never will be. */
function isKnownUndone(error: unknown): boolean {
  const isNeverSent = error instanceof ConnectionError && error.code === 'ECONNREFUSED';
  return error instanceof LockLostError || isNeverSent || (error instanceof ApiError && error.status < 500);
}

function isRefusedForGood(error: unknown): boolean {
  return error instanceof ApiError && [400, 403, 413, 422].includes(error.status);
}

/** The server has too much to do, or is not what it should be. */
function isOverload({ status }: ApiError): boolean {
  return status === 429 || status >= 500;
}

/** Carries out single actions. Every write names the resourceVersion that it was decided on (rule 8). */
export interface ActionWriter {
  /** Resolves to the object as the server has it now. Rejects as the client does. */
  write(namespace: string, leaseName: string, action: Action): Promise<KubernetesObject | undefined>;
}

/** An {@link ActionWriter} for a real API server; `apiVersionOf` tells in which version it has candidates by now. */
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

/** The request that carries out `action`. */
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
