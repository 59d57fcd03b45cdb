import type { KubernetesObject } from '../../kubernetes/objects.ts';

/**
 * Where the coordinator's lock is kept: one Lease on a connection of its own, so that load on elections cannot starve
 * its renewals (rule 10). Leases are passed as the server sent them, so that unknown fields survive.
 *
 * What the server refuses is rejected as an {@link ApiError}; any other rejection leaves open whether the request was
 * carried out.
 */
export interface LockStorage {
  /** Which Lease it is: that of `coordinatorLease` in src/election/model.ts, in the namespace that is set. */
  readonly lease: { readonly namespace: string; readonly name: string };
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
