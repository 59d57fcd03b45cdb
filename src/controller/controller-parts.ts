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

/** Told of every decision and of what became of it. */
export interface DecisionObserver {
  /** A decision was made, before anything of it is applied; `input` is what it was made on. */
  decided(key: LeaseKey, decision: Decision, input: ElectionInput): void;
  /** A look at the Lease was put off: its decisions have used up the time that it is given. */
  heldBack(key: LeaseKey): void;
  /** A write was answered, or not; `error` is undefined when it succeeded. */
  written(key: LeaseKey, action: Action, error: unknown, decision: Decision): void;
  /**
   * A decision's write to the Lease, or its deletion of a candidate, succeeded; `decision` has that one action. `lease` is
   * the Lease as the server has it now, where it was written.
   */
  applied(key: LeaseKey, decision: Decision, input: ElectionInput, lease: Lease | undefined): void;
  /** There is neither a Lease of that name any more nor a candidate for it. */
  forgotten(key: LeaseKey): void;
}

/** What a controller watches. */
export type WatchedResource = 'leases' | 'leasecandidates';

/** What happens in the controller, for whoever logs and measures. Must not throw. */
export interface ControllerObserver extends DecisionObserver {
  /** All LeaseCandidates of one source are known. */
  synced(apiVersion: CandidateApiVersion): void;
  /** LeaseCandidates are served no more as what they were watched as. */
  gone(apiVersion: CandidateApiVersion): void;
  /** Two candidates for the Lease have that name: the native one counts, the custom one does not. */
  twinSeen(key: LeaseKey, name: string): void;
  /** An annotation about the candidate's priority cannot be read, and does not count: `name: "value"` (rule 16). */
  priorityUnreadable(key: LeaseKey, name: string, annotation: string): void;
  /** No LeaseCandidates are served at all. */
  notServed(): void;
  discoveryFailed(error: unknown): void;
  reflectorFailed(error: unknown, context: ReflectorErrorContext): void;
  reflectorObserver(resource: WatchedResource): (observation: ReflectorObservation) => void;
  /** A reconcile ended in a way that nobody foresaw; it is repeated with backoff. */
  reconcileFailed(key: LeaseKey, error: unknown): void;
}
