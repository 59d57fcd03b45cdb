import type { KubernetesObject } from '../../kubernetes/objects.ts';

/**
 * Where the coordinator's lock is kept: one Lease on a connection of its own, so that load on elections cannot starve
 * its renewals (rule 10). Leases are passed as the server sent them, so that unknown fields survive.
 *
 * Rejections carry the server's HTTP status as a numeric `status`; one without it means that nobody knows whether the
 * request was carried out.
 */
export interface LockStorage {
  /** Reads the Lease from the server, not from a cache; undefined when there is none. */
  get(signal: AbortSignal): Promise<KubernetesObject | undefined>;
  /** Rejects with status 409 when there is such a Lease already. */
  create(lease: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  /** Rejects with status 409 when the Lease is no longer at the resourceVersion that `lease` carries. */
  update(lease: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  /**
   * Calls `onChange` with every new state of the Lease, undefined when it was deleted, until the returned function is
   * called; resumes by itself after failures. It may lag, and repeat states, but not reorder them.
   */
  watch?(onChange: (lease: KubernetesObject | undefined) => void): () => void;
}

/** Whether a write was refused because the Lease is not as it was when it was read: changed, created or deleted. */
export function isConflict(error: unknown): boolean {
  const status = statusOf(error);
  return status === 409 || status === 404;
}

/**
 * Whether `lease` is not newer than `seen`. Resource versions of one resource may be compared as numbers; where they are
 * none, nothing can be said.
 */
export function isNotNewer(lease: KubernetesObject, seen: KubernetesObject | undefined): boolean {
  const [version, seenVersion] = [lease.metadata.resourceVersion, seen?.metadata.resourceVersion];
  if (version === undefined || seenVersion === undefined) return false;
  if (version === seenVersion) return true;
  return /^\d+$/.test(version) && /^\d+$/.test(seenVersion) && BigInt(version) < BigInt(seenVersion);
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}
