import type { Instant } from '../../support/clock.ts';
import { isForeign } from './lock-record.ts';

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
