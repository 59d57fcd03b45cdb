import { candidateResources } from '../coordination/candidate-sources.ts';
import { type LeaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { coordinatorLease, type Lease } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import type { Instant } from '../support/clock.ts';
import { isForeign } from './lock/lock-record.ts';

const LOCK_SUFFIX = `/${coordinatorLease.name}`;
/** The assumed duration of a lock without leaseDurationSeconds: the default of Kubernetes' components. */
const DEFAULT_DURATION_SECONDS = 15;

export function isLock(key: LeaseKey): boolean {
  return key.endsWith(LOCK_SUFFIX);
}

/** Finds the locks that coordinators hold in the watched namespaces, by the Lease's name and holder (rule 10). */
export class HeldLocks {
  readonly #seen = new Map<string, { readonly lease: Lease; readonly since: Instant }>();

  /** Call this after a change of a Lease or candidate; `read` returns the Lease, or undefined if it is gone. */
  see(key: LeaseKey, read: (key: LeaseKey) => Lease | undefined, now: Instant): void {
    // Check the key first, because `see` is called for every change of a Lease or candidate.
    if (!isLock(key)) return;
    const { namespace } = splitLeaseKey(key);
    const lease = read(key);
    const holder = lease?.holderIdentity ?? '';
    // Outside kube-system, another program may use a Lease of this name, so report only locks that our replicas hold.
    const isHeld = holder !== '' && (!isForeign(holder) || namespace === coordinatorLease.namespace);
    const last = this.#seen.get(namespace)?.lease;
    if (lease === undefined || !isHeld) this.#seen.delete(namespace);
    // An event without a new holder or renewTime does not show that the holder is alive.
    else if (holder !== last?.holderIdentity || lease.renewTime !== last.renewTime)
      this.#seen.set(namespace, { lease, since: now });
  }

  /** Returns the namespaces of the locks that have not expired. */
  heldAt(now: Instant): readonly string[] {
    return [...this.#seen.values()].flatMap(({ since, lease }) => {
      const { namespace, leaseDurationSeconds = DEFAULT_DURATION_SECONDS } = lease;
      return now < since + 1000 * leaseDurationSeconds ? [namespace] : [];
    });
  }
}

/** Whether the built-in controller uses another lock than we do. If so, both may elect at the same time (rule 10). */
export function isSeparateLock(lockNamespace: string): boolean {
  return lockNamespace !== coordinatorLease.namespace;
}

/** Returns why the lock cannot be in `lockNamespace`, with advice; undefined if it can. Rejects if a request fails. */
export async function checkLockNamespace(
  client: KubernetesClient,
  lockNamespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isSeparateLock(lockNamespace)) return undefined;
  const served = await discoverServed(client, candidateResources.native, signal);
  return served && lockRefusal(lockNamespace, served);
}

export function lockRefusal(lockNamespace: string, served: string): string {
  return (
    `the lock cannot be in namespace ${lockNamespace}: the API server serves LeaseCandidates as ${served}, and the controller ` +
    `built into it, whose lock is in ${coordinatorLease.namespace}, would elect at the same time as this one. Leave --lock-namespace out, or ` +
    'turn CoordinatedLeaderElection and that API off at every kube-apiserver'
  );
}
