import type { LeaseCandidateVersion } from '../coordination/lease-candidate-version.ts';
import type { ElectionSettings } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ReflectorErrorContext, ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock } from '../support/clock.ts';
import type { LeaseKey } from './lease-key.ts';
import type { WorkqueueObserver } from './queue/workqueue.ts';
import type { WriteQueueObserver } from './queue/write-queue.ts';
import type { DecisionObserver } from './reconcile.ts';

/** What a controller watches. */
export type WatchedResource = 'leases' | 'leasecandidates';

/** What happens in the controller, for whoever logs and measures. Must not throw. */
export interface ControllerObserver extends DecisionObserver {
  synced(version: LeaseCandidateVersion): void;
  notServed(): void;
  discoveryFailed(error: unknown): void;
  reflectorFailed(error: unknown, context: ReflectorErrorContext): void;
  reflectorObserver(resource: WatchedResource): (observation: ReflectorObservation) => void;
  /** A reconcile ended in a way that nobody foresaw; it is repeated with backoff. */
  reconcileFailed(key: LeaseKey, error: unknown): void;
}

/** What a controller is made of. */
export interface ElectionControllerParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly settings: ElectionSettings;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  /** How many requests may ever be under way at once. */
  readonly workers: number;
  readonly isDryRun: boolean;
  readonly mayWrite: () => boolean;
  readonly observer: ControllerObserver;
  readonly workqueueObserver?: WorkqueueObserver;
  readonly writeQueueObserver?: WriteQueueObserver;
  /** What canElect of the controller says may have changed. */
  readonly onSighted?: () => void;
}

/** Told that something about a Lease, or a candidate for it, was seen to change; most often that its holder has renewed it. */
export type SeenListener = (key: LeaseKey, isMereRenewal: boolean) => void;
