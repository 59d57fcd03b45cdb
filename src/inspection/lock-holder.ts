import { isForeign, readLockRecord } from '../controller/lock/lock-record.ts';
import { decodeLease } from '../coordination/lease.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { coordinatorLease } from '../election/coordinator-lease.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { ApiError } from '../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../kubernetes/objects.ts';
import type { Clock } from '../support/clock.ts';

/** Who holds the coordinator's lock, and thus decides the elections of the cluster. */
export type LockHolder =
  | { readonly kind: 'ours' | 'builtIn'; readonly holder: string; readonly renewedSecondsAgo: number }
  /** Nobody, or somebody whose time is over. */
  | { readonly kind: 'nobody'; readonly formerHolder: string }
  /** It may not be read with these credentials. */
  | { readonly kind: 'unknown' };

/** Reads the lock in `namespace`. Rejects as the client does, but for a refusal: whoever asks may not be entitled to know. */
export async function lookAtLock(
  client: KubernetesClient,
  clock: Clock,
  namespace: string,
  signal?: AbortSignal,
): Promise<LockHolder> {
  const path = resourcePaths.lease(namespace, coordinatorLease.name);
  try {
    const lease = await client.request({ method: 'GET', path, ...(signal && { signal }) });
    return isKubernetesObject(lease) ? lockHolderOf(lease, clock.wallTime()) : { kind: 'unknown' };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return { kind: 'nobody', formerHolder: '' };
    if (error.status === 403) return { kind: 'unknown' };
    throw error;
  }
}

/** A lock that another coordinator holds. */
export interface OtherLock {
  readonly namespace: string;
  readonly holder: string;
}

/** The locks in other namespaces than `namespace` whose holders renew them; none where Leases may not be listed. */
export async function lookAtOtherLocks(
  client: KubernetesClient,
  clock: Clock,
  namespace: string,
): Promise<readonly OtherLock[]> {
  try {
    const { items } = await client.request({
      method: 'GET',
      path: resourcePaths.leases(''),
      query: { fieldSelector: `metadata.name=${coordinatorLease.name}` },
    });
    const locks = Array.isArray(items) ? items.filter(isKubernetesObject) : [];
    return locks.flatMap((lease) => {
      const { namespace: found } = decodeLease(lease);
      const lock = lockHolderOf(lease, clock.wallTime());
      const isLock =
        lock.kind === 'ours' || (lock.kind === 'builtIn' && found === coordinatorLease.namespace);
      return isLock && found !== namespace ? [{ namespace: found, holder: lock.holder }] : [];
    });
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) return [];
    throw error;
  }
}

/** Judged by the holder's renewTime and our clock: whoever looks once has nothing else. */
export function lockHolderOf(lease: KubernetesObject, wallTime: bigint): LockHolder {
  const { holder, leaseDurationMs = 0 } = readLockRecord(lease);
  const { renewTime } = decodeLease(lease);
  const agoMs = renewTime === undefined ? Number.POSITIVE_INFINITY : Number(wallTime - renewTime) / 1000;
  if (holder === '' || agoMs > leaseDurationMs) return { kind: 'nobody', formerHolder: holder };
  return { kind: isForeign(holder) ? 'builtIn' : 'ours', holder, renewedSecondsAgo: agoMs / 1000 };
}
