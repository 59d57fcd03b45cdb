import { candidateResources } from '../coordination/candidate-sources.ts';
import { type LeaseKey, splitLeaseKey } from '../coordination/lease-key.ts';
import { coordinatorLease, type Lease } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import type { Instant } from '../support/clock.ts';
import { isForeign } from './lock/lock-record.ts';

const LOCK_SUFFIX = `/${coordinatorLease.name}`;

/** Whether a Lease is called as the lock of a coordinator is. */
export function isLock(key: LeaseKey): boolean {
  return key.endsWith(LOCK_SUFFIX);
}

/** Of a lock that names no duration, in milliseconds. */
const DEFAULT_DURATION_MS = 15_000;

/**
 * The locks of coordinators among the Leases that are watched. Coordinators with different locks know nothing of each other
 * but this: each has a Lease of one name, in a namespace of its own, and renews it (rule 10). As Leases are watched anyway,
 * this costs no request and no right; a lock in a namespace that is not watched remains unseen.
 */
export class HeldLocks {
  readonly #seen = new Map<string, { readonly lease: Lease; readonly since: Instant }>();

  /** A Lease is now as `read` says; undefined: it is gone. */
  see(key: LeaseKey, read: (key: LeaseKey) => Lease | undefined, now: Instant): void {
    // Told of every change of every Lease and candidate.
    if (!isLock(key)) return;
    const { namespace } = splitLeaseKey(key);
    const lease = read(key);
    const holder = lease?.holderIdentity ?? '';
    // By our prefix, or as the built-in's: anybody else may call a Lease of their own so.
    const isHeld = holder !== '' && (!isForeign(holder) || namespace === coordinatorLease.namespace);
    if (lease === undefined || !isHeld) this.#seen.delete(namespace);
    else if (this.#isNews(lease)) this.#seen.set(namespace, { lease, since: now });
  }

  /** The namespaces of the locks whose holders renew them. */
  heldAt(now: Instant): readonly string[] {
    return [...this.#seen.values()]
      .filter(({ lease, since }) => now < since + durationMsOf(lease))
      .map(({ lease }) => lease.namespace);
  }

  /** A copy of what was seen before is no sign of life. */
  #isNews({ namespace, holderIdentity, renewTime }: Lease): boolean {
    const last = this.#seen.get(namespace)?.lease;
    return last?.holderIdentity !== holderIdentity || last?.renewTime !== renewTime;
  }
}

function durationMsOf({ leaseDurationSeconds }: Lease): number {
  return leaseDurationSeconds === undefined ? DEFAULT_DURATION_MS : leaseDurationSeconds * 1000;
}

/**
 * Whether the lock is where the controller built into kube-apiserver does not look: it then would coordinate beside us
 * wherever the API server serves LeaseCandidates of its own (rule 10).
 */
export function isOwnLock(lockNamespace: string): boolean {
  return lockNamespace !== coordinatorLease.namespace;
}

/**
 * Why the lock cannot be in `lockNamespace`, in words that say what to do; undefined where nothing speaks against it. Rejects
 * as the client does: a server that cannot be asked is no reason.
 */
export async function refusalOfLock(
  client: KubernetesClient,
  lockNamespace: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isOwnLock(lockNamespace)) return undefined;
  const served = await discoverServed(client, candidateResources.native, signal);
  return served && lockRefusal(lockNamespace, served);
}

/** The API server serves LeaseCandidates as `served`, which speaks against a lock in `lockNamespace`. */
export function lockRefusal(lockNamespace: string, served: string): string {
  return (
    `the lock cannot be in namespace ${lockNamespace}: the API server serves LeaseCandidates as ${served}, and the controller ` +
    `built into it, whose lock is in ${coordinatorLease.namespace}, would elect beside this one. Leave --lock-namespace out, or ` +
    'turn CoordinatedLeaderElection and that API off at every kube-apiserver'
  );
}
