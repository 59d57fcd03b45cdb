import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { ApiRequest, KubernetesClient } from '../../kubernetes/client.ts';
import { unlessStatus } from '../../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../kubernetes/objects.ts';
import { Reflector, type ReflectorErrorContext } from '../../kubernetes/reflector.ts';
import type { Clock } from '../../support/clock.ts';

export const CALL_TIMEOUT_MS = 3000;

/**
 * Reads and writes the Lease of the lock. Keeps unknown fields. The server may have carried out a failed write, even if
 * the error is a conflict: a proxy may send a write twice, and the server refuses only the second copy.
 */
export interface LockStorage {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Reads the Lease from the server, not from a cache; undefined if there is none. */
  get(): Promise<KubernetesObject | undefined>;
  /** Rejects with status 409 when the Lease exists. */
  create(lease: KubernetesObject): Promise<KubernetesObject>;
  /** Rejects with status 409 when the Lease has another resourceVersion than `lease`. */
  update(lease: KubernetesObject): Promise<KubernetesObject>;
  /**
   * Calls `onChange` with new states of the Lease, in order; with undefined if the Lease was deleted. May skip states
   * that the Lease had while the watch was interrupted. The returned function stops the watch.
   */
  watch(onChange: (lease: KubernetesObject | undefined) => void): () => void;
}

export type LockCall = 'get' | 'create' | 'update';

/** Use `client` for the lock only, so that the load of elections cannot delay renewals (rule 10). */
export function createApiLockStorage(
  client: KubernetesClient,
  clock: Clock,
  lease: LockStorage['lease'],
  onWatchError: (error: unknown, context: ReflectorErrorContext) => void,
): LockStorage {
  const path = resourcePaths.lease(lease.namespace, lease.name);
  const query = { fieldManager: FIELD_MANAGER };
  const write = async (request: ApiRequest): Promise<KubernetesObject> => {
    const answer = await client.request({ ...request, query, deadlineMs: CALL_TIMEOUT_MS });
    if (!isKubernetesObject(answer))
      throw new TypeError(`${request.method} ${request.path} was answered without a Lease`);
    return answer;
  };
  return {
    lease,
    async get() {
      const read = client.request({ method: 'GET', path, deadlineMs: CALL_TIMEOUT_MS });
      const answer = await unlessStatus(read, 404);
      return isKubernetesObject(answer) ? answer : undefined;
    },
    create: (body) => write({ method: 'POST', path: resourcePaths.leases(lease.namespace), body }),
    update: (body) => write({ method: 'PUT', path, body }),
    watch(onChange) {
      const reflector = new Reflector({
        client,
        clock,
        path: resourcePaths.leases(lease.namespace),
        // With this selector, the API server allows the watch even if our role permits only this one Lease.
        query: { fieldSelector: `metadata.name=${lease.name}` },
        decode: (raw) => raw,
        handler: ({ type, object }) => onChange(type === 'deleted' ? undefined : object),
        onError: onWatchError,
      });
      reflector.start();
      return () => void reflector.stop();
    },
  };
}
