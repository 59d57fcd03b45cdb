import type { Clock, Instant } from '../../support/clock.ts';
import { isForeign } from './lock-record.ts';
import type { LockCall, LockStorage } from './lock-storage.ts';

/** A claim or renewal is valid for at least this time, in ms. This and the next two values are Kubernetes' defaults. */
export const LEASE_DURATION_MS = 15_000;
/** The holder stops acting when this time has passed since it sent its last successful renewal, in ms. */
export const RENEW_DEADLINE_MS = 10_000;
/** Interval of renewals, and of reads while this replica does not hold the lock, in ms. */
export const RETRY_PERIOD_MS = 2000;

/** Events for logs and metrics, in addition to changes of the state. */
export type LockEvent =
  | { readonly kind: 'claimedByForce'; readonly from: string }
  /**
   * We have lost the lock. `by`: the new holder, or '' if the Lease was emptied or deleted. `forceAgainInMs`: the delay
   * before we claim the lock by force; undefined if the new holder is not foreign, or without `takeOver`.
   */
  | { readonly kind: 'ousted'; readonly by: string; readonly forceAgainInMs?: number }
  /** We stop acting, because we cannot coordinate. If we still cannot coordinate when our writes end, we release the lock. */
  | { readonly kind: 'letGo' }
  /** A request for the lock failed. A single conflict is normal, repeated conflicts are not. */
  | { readonly kind: 'callFailed'; readonly call: LockCall; readonly error: unknown };

export interface CoordinatorLockOptions {
  readonly clock: Clock;
  readonly storage: LockStorage;
  readonly identity: string;
  /** Whether to take the lock by force from a foreign holder, such as the controller built into kube-apiserver. */
  readonly takeOver: boolean;
  /** While false, we do not claim the lock. If false for RENEW_DEADLINE_MS, we release the lock, but not while settling. */
  readonly canCoordinate?: () => boolean;
  /** Called when the kind, holder or activeAt of the state changes. Must not throw. */
  readonly onChange?: (state: LockState) => void;
  /** Must not throw. */
  readonly onEvent?: (event: LockEvent) => void;
}

/**
 * Deadline of each write that needs the lock, in ms.
 *
 * This deadline prevents two coordinators from acting at the same time (rule 10). A write begins at most 10 s after the
 * holder sent its last successful renewal, and ends at most 13.5 s after it. For other replicas, the lock expires 15 s
 * after they saw this renewal. The write ends earlier, even if the holder's clock is 5 % slow and the other's 5 % fast:
 * 13.5 s / 0.95 < 15 s / 1.05.
 */
export const LONGEST_WRITE_MS = 3500;

/**
 * - `standby`: none of the other states, for example while another of our replicas holds the lock.
 * - `waiting`: a foreign holder holds the lock, such as the controller built into kube-apiserver.
 * - `settling`: this replica holds the lock, but a former holder may still act.
 * - `active`: this replica may write.
 */
export interface LockState {
  readonly kind: 'standby' | 'waiting' | 'settling' | 'active';
  /** The holder as last seen; absent if the lock has no holder. */
  readonly holder?: string;
  readonly since: Instant;
  /** The time at which a settling replica becomes active if it still holds the lock; absent in other states. */
  readonly activeAt?: Instant;
}

/** @param renewed whether this replica holds the lock and has renewed it in time */
export function stateOf(holder: string, renewed: boolean, actFrom: Instant, now: Instant): LockState {
  if (renewed && now < actFrom) return { kind: 'settling', holder, since: now, activeAt: actFrom };
  if (renewed) return { kind: 'active', holder, since: now };
  if (holder === '') return { kind: 'standby', since: now };
  return { kind: isForeign(holder) ? 'waiting' : 'standby', holder, since: now };
}

/** Compares all fields except `since`. */
export function isSameState(a: LockState, b: LockState): boolean {
  return a.kind === b.kind && a.holder === b.holder && a.activeAt === b.activeAt;
}
