import type { CandidateApiVersion } from '../coordination/candidate-sources.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Action, Decision } from '../election/decision.ts';
import type { Lease } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';
import type { ReflectorErrorContext, ReflectorObservation } from '../kubernetes/reflector.ts';
import type { LabelEvent } from './leader-label/leader-labels.ts';
import type { LockEvent, LockState } from './lock/lock-settings.ts';
import type { Urgency } from './order-and-limit.ts';

export type WatchedResource = 'leases' | 'leasecandidates';

/** Events about Leases that wait for a decision or for a free slot, and about failed decisions. */
type QueueEvent =
  /** A due Lease waited `waitedMs` in the queue. The scheduler processed it in `workMs`, perhaps without a decision. */
  | { readonly type: 'processed'; readonly waitedMs: number; readonly workMs: number }
  /** The scheduler starts to send all or some requests of a decision, after a wait of `waitedMs` for a free slot. */
  | { readonly type: 'sending'; readonly urgency: Urgency; readonly waitedMs: number }
  /** A decision threw an error. The scheduler decides again after a backoff, or earlier after a change. */
  | { readonly type: 'decisionFailed'; readonly key: LeaseKey; readonly error: unknown };

type DecisionEvent =
  /** The scheduler has made a decision from `input`, and sends its first action now, if any. A dry run sends none. */
  | {
      readonly type: 'decided';
      readonly key: LeaseKey;
      readonly decision: Decision;
      readonly input: ElectionInput;
    }
  /** The scheduler delays the next decision about the Lease: earlier decisions have used up the Lease's time budget. */
  | { readonly type: 'heldBack'; readonly key: LeaseKey }
  | WriteEvent
  /** The controller forgets a Lease, because the Lease and all its candidates are gone. */
  | { readonly type: 'forgotten'; readonly key: LeaseKey };

export interface WriteEvent {
  readonly type: 'written';
  readonly key: LeaseKey;
  readonly action: Action;
  /** The decision that led to the write. Its `actions` contain only `action`. */
  readonly decision: Decision;
  readonly input: ElectionInput;
  /** Why the write failed, or may have failed; undefined after a success. */
  readonly error: unknown;
  /** The Lease in the server's answer; undefined after a failure, or if the answer has no Lease (pings, deletions). */
  readonly lease: Lease | undefined;
}

export type WatchEvent =
  /** All LeaseCandidates of version `apiVersion` that this process watches and may read are now cached. */
  | { readonly type: 'synced'; readonly apiVersion: CandidateApiVersion }
  /** The API server no longer serves the watched version of LeaseCandidates. */
  | { readonly type: 'gone'; readonly apiVersion: CandidateApiVersion }
  /** The API server serves no LeaseCandidates. A `CandidateWatch` reports this about its own source only. */
  | { readonly type: 'notServed' }
  | { readonly type: 'discoveryFailed'; readonly error: unknown }
  | { readonly type: 'watchFailed'; readonly error: unknown; readonly context: ReflectorErrorContext }
  | {
      readonly type: 'reflected';
      readonly resource: WatchedResource;
      readonly observation: ReflectorObservation;
    }
  /** The Lease or a candidate is new, changed or gone. `isRenewalOnly`: at most a renewal of the Lease. */
  | { readonly type: 'seen'; readonly key: LeaseKey; readonly isRenewalOnly: boolean }
  /** A native and a custom candidate for the Lease have the same name. Only one of them takes part in elections. */
  | { readonly type: 'twinSeen'; readonly key: LeaseKey; readonly name: string }
  /** The coordinator ignores the priority annotations of a candidate. `annotation`: the invalid one, with its value. */
  | {
      readonly type: 'priorityUnreadable';
      readonly key: LeaseKey;
      readonly name: string;
      readonly annotation: string;
    };

type CoordinatorLockEvent =
  | { readonly type: 'lockChanged'; readonly state: LockState }
  | { readonly type: 'lockEvent'; readonly event: LockEvent }
  | { readonly type: 'lockWatchFailed'; readonly error: unknown; readonly context: ReflectorErrorContext }
  /**
   * The coordinator has begun to refuse the namespace of its lock, and makes no election writes: the built-in
   * controller, which uses the lock in kube-system, could elect at the same time.
   */
  | { readonly type: 'lockRefused'; readonly reason: string };

/** Events for the observers of a controller, such as logs, metrics and the status page. */
export type ControllerEvent = QueueEvent | DecisionEvent | WatchEvent | CoordinatorLockEvent | LabelEvent;

export type EventOf<Type extends ControllerEvent['type']> = Extract<ControllerEvent, { type: Type }>;

/** Receives each event of a controller. Must not throw. */
export type ObserveController = (event: ControllerEvent) => void;

/** Whether the event reports a successful write to a Lease or a successful deletion of a candidate. False for pings. */
export function isApplied({ action, error }: WriteEvent): boolean {
  return error === undefined && action.kind !== 'PingCandidate';
}
