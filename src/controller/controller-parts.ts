import type { LeaseKey } from '../coordination/lease-key.ts';
import type { ElectionSettings } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { Clock } from '../support/clock.ts';
import type { ControllerObserver } from './observers.ts';
import type { WorkqueueObserver } from './queue/workqueue.ts';
import type { WriteQueueObserver } from './queue/write-queue.ts';

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
export type SeenListener = (key: LeaseKey, isRenewalOnly: boolean) => void;
