import type { WatchedLease } from '../../control-plane/watched-objects.ts';
import { candidateName } from './casts.ts';
import type { SimStage } from './contender.ts';

/** Longer than any useful wait. */
export const MAX_WAIT_MS = 90_000;

/** For both coordinators, a renewal counts as a sign of life for 5 s. Later, an election has to ping. */
export const FRESHNESS_MS = 6_000;

export function isHeld({ spec }: WatchedLease, type: string): boolean {
  return type !== 'DELETED' && (spec.holderIdentity ?? '') !== '';
}

/** A wait without a result is a figure, too. */
export function firstOf<T>(wait: Promise<T>): Promise<T | undefined> {
  return wait.catch(() => undefined);
}

/** The time from one event to a later one, which may never happen. */
export function waitBetween(fromMs: number, to: { readonly wallMs: number } | undefined): number {
  return (to?.wallMs ?? Number.POSITIVE_INFINITY) - fromMs;
}

/**
 * Waits until the candidate with this minor version leads each of the Leases, and has renewed it for the 15 s of
 * client-go. On a busy machine, another candidate may lead first, and has to yield.
 */
export async function untilLedBy(
  { namespace, leases }: Pick<SimStage, 'namespace' | 'leases'>,
  names: readonly string[],
  minor: number,
): Promise<void> {
  await Promise.all(
    names.map((lease) =>
      leases.waitFor(
        namespace,
        lease,
        ({ spec }) => spec.holderIdentity === candidateName(lease, minor) && spec.leaseDurationSeconds === 15,
        { timeoutMs: 2 * MAX_WAIT_MS },
      ),
    ),
  );
}
