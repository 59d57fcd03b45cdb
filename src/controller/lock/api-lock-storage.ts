import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { ApiRequest, KubernetesClient } from '../../kubernetes/client.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../kubernetes/objects.ts';
import { Reflector, type ReflectorErrorContext } from '../../kubernetes/reflector.ts';
import type { Clock } from '../../support/clock.ts';
import type { LockStorage } from './lock-storage.ts';

/**
 * The lock's Lease on an API server. `client` must serve nothing else: its connections are then free for renewals
 * whatever the load on elections (rule 10).
 */
export function createApiLockStorage(
  client: KubernetesClient,
  clock: Clock,
  lease: LockStorage['lease'],
  onWatchError: (error: unknown, context: ReflectorErrorContext) => void,
): LockStorage {
  const path = resourcePaths.lease(lease.namespace, lease.name);
  const query = { fieldManager: FIELD_MANAGER };
  const write = async (request: ApiRequest): Promise<KubernetesObject> => {
    const answer = await client.request({ ...request, query });
    if (!isKubernetesObject(answer))
      throw new TypeError(`${request.method} ${request.path} was answered without a Lease`);
    return answer;
  };
  return {
    lease,
    async get(signal) {
      try {
        const answer = await client.request({ method: 'GET', path, signal });
        return isKubernetesObject(answer) ? answer : undefined;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return undefined;
        throw error;
      }
    },
    create: (body, signal) =>
      write({ method: 'POST', path: resourcePaths.leases(lease.namespace), body, signal }),
    update: (body, signal) => write({ method: 'PUT', path, body, signal }),
    watch(onChange) {
      const reflector = new Reflector({
        client,
        clock,
        path: resourcePaths.leases(lease.namespace),
        // By its name alone, so that a role may be limited to this one Lease.
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
