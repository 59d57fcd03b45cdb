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

/** How long Leases wait for a decision, and for a free slot to write. */
type QueueEvent =
  /** The scheduler processed a Lease that was due for `waitedMs`. It may have made no decision. */
  | { readonly type: 'processed'; readonly waitedMs: number; readonly workMs: number }
  /** A Lease got a free slot for its requests after it waited for `waitedMs`. */
  | { readonly type: 'sending'; readonly urgency: Urgency; readonly waitedMs: number }
  /** A decision threw an error. The scheduler retries it with backoff. */
  | { readonly type: 'decisionFailed'; readonly key: LeaseKey; readonly error: unknown };

/** The decisions about Leases and their results. */
type DecisionEvent =
  /** A decision was made from `input` and is not applied yet. */
  | {
      readonly type: 'decided';
      readonly key: LeaseKey;
      readonly decision: Decision;
      readonly input: ElectionInput;
    }
  /** A decision was delayed, because the decisions about the Lease have used up their budget. */
  | { readonly type: 'heldBack'; readonly key: LeaseKey }
  | WriteEvent
  /** The Lease and all its candidates are gone. */
  | { readonly type: 'forgotten'; readonly key: LeaseKey };

export interface WriteEvent {
  readonly type: 'written';
  readonly key: LeaseKey;
  readonly action: Action;
  /** The decision, with only this action. */
  readonly decision: Decision;
  readonly input: ElectionInput;
  /** Undefined after a success. */
  readonly error: unknown;
  /** The Lease after the write. */
  readonly lease: Lease | undefined;
}

export type WatchEvent =
  /** All LeaseCandidates of one source are cached. */
  | { readonly type: 'synced'; readonly apiVersion: CandidateApiVersion }
  /** The API server no longer serves the watched version of LeaseCandidates. */
  | { readonly type: 'gone'; readonly apiVersion: CandidateApiVersion }
  /** The API server serves no LeaseCandidates. */
  | { readonly type: 'notServed' }
  | { readonly type: 'discoveryFailed'; readonly error: unknown }
  | { readonly type: 'watchFailed'; readonly error: unknown; readonly context: ReflectorErrorContext }
  | {
      readonly type: 'reflected';
      readonly resource: WatchedResource;
      readonly observation: ReflectorObservation;
    }
  /** The Lease or one of its candidates has changed, usually by a renewal of the holder. */
  | { readonly type: 'seen'; readonly key: LeaseKey; readonly isRenewalOnly: boolean }
  /** A native and a custom candidate for the Lease have the same name. Only one of them counts. */
  | { readonly type: 'twinSeen'; readonly key: LeaseKey; readonly name: string }
  /** The candidate has an invalid priority annotation, `name: "value"`. The annotation is ignored (rule 16). */
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
  /** Sent when the coordinator begins to refuse the lock's namespace. */
  | { readonly type: 'lockRefused'; readonly reason: string };

/** Events for the observers of a controller: logs, metrics and the status page. */
export type ControllerEvent = QueueEvent | DecisionEvent | WatchEvent | CoordinatorLockEvent | LabelEvent;

export type EventOf<Type extends ControllerEvent['type']> = Extract<ControllerEvent, { type: Type }>;

/** Must not throw. */
export type ObserveController = (event: ControllerEvent) => void;

/** Whether a write to a Lease or the deletion of a candidate succeeded. Pings do not count. */
export function isApplied({ action, error }: WriteEvent): boolean {
  return error === undefined && action.kind !== 'PingCandidate';
}
