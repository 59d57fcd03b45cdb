import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Action, Decision } from '../election/decision.ts';
import type { ElectionSettings, Lease } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ReflectorErrorContext, ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock } from '../support/clock.ts';
import type { WorkqueueObserver } from './queue/workqueue.ts';
import type { WriteQueueObserver } from './queue/write-queue.ts';

export interface ElectionControllerParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** Upper bound of writes in flight. */
  readonly workers: number;
  readonly isDryRun: boolean;
  readonly mayWrite: () => boolean;
  readonly observer: ControllerObserver;
  readonly workqueueObserver?: WorkqueueObserver;
  readonly writeQueueObserver?: WriteQueueObserver;
  /** Called when `canElect()` of the controller may have changed. */
  readonly onCanElectChange?: () => void;
}

/** Called when a Lease or one of its candidates changes, most often by a renewal of the holder. */
export type SeenListener = (key: LeaseKey, isRenewalOnly: boolean) => void;

/** Reports every decision and its results. */
export interface DecisionObserver {
  /** A decision was made from `input` and is not applied yet. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void;
  /** A reconcile was delayed, because the decisions about the Lease have used up their time budget. */
  heldBack(key: LeaseKey): void;
  /** A write ended; `error` is undefined after a success. */
  written(key: LeaseKey, action: Action, error: unknown, decision: Decision): void;
  /**
   * A write to the Lease, or the deletion of a candidate, succeeded; `decision` has this action only. `lease` is the written
   * Lease.
   */
  applied(key: LeaseKey, decision: Decision, input: ElectionInput, lease: Lease | undefined): void;
  /** The Lease and all its candidates are gone. */
  forgotten(key: LeaseKey): void;
}

export type WatchedResource = 'leases' | 'leasecandidates';

/** For logs and metrics. Must not throw. */
export interface ControllerObserver extends DecisionObserver {
  /** All LeaseCandidates of one source are cached. */
  synced(apiVersion: CandidateApiVersion): void;
  /** The API server no longer serves the watched version of LeaseCandidates. */
  gone(apiVersion: CandidateApiVersion): void;
  /** A native and a custom candidate for the Lease have the same name; only one of them counts. */
  twinSeen(key: LeaseKey, name: string): void;
  /** A priority annotation of the candidate is invalid and ignored: `name: "value"` (rule 16). */
  priorityUnreadable(key: LeaseKey, name: string, annotation: string): void;
  /** The API server serves no LeaseCandidates. */
  notServed(): void;
  discoveryFailed(error: unknown): void;
  reflectorFailed(error: unknown, context: ReflectorErrorContext): void;
  reflectorObserver(resource: WatchedResource): (observation: ReflectorObservation) => void;
  /** A reconcile threw; it is retried with backoff. */
  reconcileFailed(key: LeaseKey, error: unknown): void;
}
