import type { WatchedLease } from '../../control-plane/watched-objects.ts';
import { candidateName } from './casts.ts';
import type { SimStage } from './contender.ts';

/** Longer than any wait worth telling apart from never. */
export const MAX_WAIT_MS = 90_000;

/** For 5 s a renewal counts as a sign of life, with either coordinator; from then on an election has to ask. */
export const FRESHNESS_MS = 6_000;

export function isHeld({ spec }: WatchedLease, type: string): boolean {
  return type !== 'DELETED' && (spec.holderIdentity ?? '') !== '';
}

/** A wait that came to nothing is a figure too. */
export function firstOf<T>(wait: Promise<T>): Promise<T | undefined> {
  return wait.catch(() => undefined);
}

/** From one time to a later one, of which nobody knows whether it will come. */
export function waitBetween(fromMs: number, to: { readonly wallMs: number } | undefined): number {
  return (to?.wallMs ?? Number.POSITIVE_INFINITY) - fromMs;
}

/**
 * Waits until the candidate with this minor version leads each of the Leases, and has renewed it for the 15 s of client-go. On a
 * busy machine, another candidate may lead first, and has to yield.
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
