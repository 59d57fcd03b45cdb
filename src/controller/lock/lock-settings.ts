import type { Clock, Instant } from '../../support/clock.ts';
import { isForeign } from './lock-record.ts';
import type { LockCall, LockStorage } from './lock-storage.ts';

/** How the lock is timed; by default as the built-in controller's and those of Kubernetes' own components. */
export interface LockTiming {
  /** How long a claim or renewal lasts, in milliseconds: whole seconds. 15,000 by default. */
  readonly leaseDurationMs: number;
  /** How long after the sending of its last successful renewal a holder may act, in milliseconds. 10,000 by default. */
  readonly renewDeadlineMs: number;
  /** How often to renew, or to look at another's lock, in milliseconds. 2,000 by default. */
  readonly retryPeriodMs: number;
  /** The deadline of every single call about the lock, in milliseconds. 3,000 by default. */
  readonly callTimeoutMs: number;
}

/** What is worth a line in the log, besides changes of the state. */
export type LockEvent =
  | { readonly kind: 'claimedByForce'; readonly from: string }
  /** Somebody else was found to hold the lock while we did; `by` is '' when the Lease was emptied or deleted. */
  | { readonly kind: 'ousted'; readonly by: string; readonly forceAgainInMs?: number }
  /** We hold it and cannot coordinate, which another may be able to. */
  | { readonly kind: 'letGo' }
  /** Conflicts included: they are part of any race for the lock, but their going on would be news. */
  | { readonly kind: 'callFailed'; readonly call: LockCall; readonly error: unknown };

export interface CoordinatorLockOptions {
  readonly clock: Clock;
  readonly storage: LockStorage;
  /** See `replicaIdentity`. */
  readonly identity: string;
  /** Whether to oust a holder without our prefix, rather than wait until the lock is free or has expired. */
  readonly takeOver: boolean;
  /**
   * Whether we could coordinate if we had the lock; yes by default. It is taken only then, and let go when that was not so
   * for as long as a holder may fail to renew it: `renewDeadlineMs`.
   */
  readonly canCoordinate?: () => boolean;
  readonly timing?: Partial<LockTiming>;
  /** Called when the state's kind, holder or activeAt has changed. Must not throw. */
  readonly onChange?: (state: LockState) => void;
  /** Must not throw. */
  readonly onEvent?: (event: LockEvent) => void;
}

export const DEFAULT_LOCK_TIMING: LockTiming = {
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2000,
  callTimeoutMs: 3000,
};

/**
 * No write that needs the lock may take longer than this, in milliseconds.
 *
 * The invariant that keeps two coordinators from acting at once (rule 10): a write begins at most `renewDeadlineMs`
 * after the last successful renewal was sent, and ends within this deadline. Nobody else sees that renewal before it was
 * sent, so nobody judges it expired within `leaseDurationMs` of that moment. With the defaults 10 s + 3.5 s < 15 s, also where
 * the one's clock runs 5 % slow and the other's 5 % fast: 13.5 s / 0.95 < 15 s / 1.05.
 */
export const LONGEST_WRITE_MS = 3500;

/** @throws RangeError when the timing would let two replicas act at once, or one lose the lock without any failure. */
export function checkLockSettings(identity: string, timing: LockTiming): void {
  if (isForeign(identity)) throw new RangeError(`a replica's identity cannot be "${identity}"`);
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs, callTimeoutMs } = timing;
  if (leaseDurationMs % 1000 !== 0) throw new RangeError('leaseDurationMs must be whole seconds');
  if (!(leaseDurationMs > renewDeadlineMs + LONGEST_WRITE_MS)) {
    throw new RangeError(`leaseDurationMs must exceed renewDeadlineMs by more than ${LONGEST_WRITE_MS}`);
  }
  if (!(retryPeriodMs > 0 && callTimeoutMs > 0))
    throw new RangeError('retryPeriodMs and callTimeoutMs must be positive');
  if (!(renewDeadlineMs > retryPeriodMs + callTimeoutMs)) {
    throw new RangeError(
      'renewDeadlineMs must leave time for a retry: more than retryPeriodMs + callTimeoutMs',
    );
  }
}

/**
 * Where a replica stands: `standby` behind one of our own (or nobody that it knows of), `waiting` for a holder without
 * our prefix, `settling` while it holds the lock but somebody ousted may still act, `active` when it may write.
 */
export interface LockState {
  readonly kind: 'standby' | 'waiting' | 'settling' | 'active';
  /** Who holds the lock, as last seen; absent when nobody does. */
  readonly holder?: string;
  /** Since when it has stood there. */
  readonly since: Instant;
  /** When settling ends, if no renewal fails. */
  readonly activeAt?: Instant;
}

/** The state that follows from who holds the lock, whether we hold and keep renewing it, and from when we may act. */
export function stateOf(holder: string, renewed: boolean, actFrom: Instant, now: Instant): LockState {
  if (renewed && now < actFrom) return { kind: 'settling', holder, since: now, activeAt: actFrom };
  if (renewed) return { kind: 'active', holder, since: now };
  if (holder === '') return { kind: 'standby', since: now };
  return { kind: isForeign(holder) ? 'waiting' : 'standby', holder, since: now };
}

/** Whether two states differ in nothing but `since`. */
export function isSameState(a: LockState, b: LockState): boolean {
  return a.kind === b.kind && a.holder === b.holder && a.activeAt === b.activeAt;
}
