import { candidateResources } from '../coordination/candidate-sources.ts';
import { coordinatorLease } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';

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
