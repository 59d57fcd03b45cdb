import { FIELD_MANAGER } from '../../coordination/lease.ts';
import { resourcePaths } from '../../coordination/resource-paths.ts';
import type { ApiRequest, KubernetesClient } from '../../kubernetes/client.ts';
import { Deadline } from '../../kubernetes/deadline.ts';
import { ApiError } from '../../kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../kubernetes/objects.ts';
import { Reflector, type ReflectorErrorContext } from '../../kubernetes/reflector.ts';
import type { Clock } from '../../support/clock.ts';
import { newLockLease, type RecordChange, withRecord } from './lock-record.ts';

/**
 * Reads and writes the Lease of the coordinator's lock. Leases keep their unknown fields.
 *
 * A request that the server refuses rejects with an {@link ApiError}. After any other rejection the server may have
 * carried out the request.
 */
export interface LockStorage {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** Reads the Lease from the server, not from a cache; undefined if there is none. */
  get(signal: AbortSignal): Promise<KubernetesObject | undefined>;
  /** Rejects with status 409 when the Lease exists. */
  create(lease: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  /** Rejects with status 409 when the Lease has another resourceVersion than `lease`. */
  update(lease: KubernetesObject, signal: AbortSignal): Promise<KubernetesObject>;
  /**
   * Calls `onChange` with every new state of the Lease (undefined: deleted) until the returned function is called.
   * Resumes after failures. States may be late or repeated, but are in order.
   */
  watch?(onChange: (lease: KubernetesObject | undefined) => void): () => void;
}

/**
 * Stores the lock on an API server. Use `client` for the lock only, so that the load of elections cannot delay renewals
 * (rule 10).
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
        // With this selector, a role can allow only this one Lease.
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

export type LockCall = 'get' | 'create' | 'update';

export interface LockCallsParts {
  readonly clock: Clock;
  readonly storage: LockStorage;
  readonly timeoutMs: number;
  /** Called after a failure. The state of the server is unknown then. */
  readonly onFailure: (call: LockCall, error: unknown) => void;
}

/** Sends the requests about the lock, each with its own deadline. */
export class LockCalls {
  readonly #parts: LockCallsParts;

  constructor(parts: LockCallsParts) {
    this.#parts = parts;
  }

  get(): Promise<KubernetesObject | undefined> {
    return this.#call('get', (signal) => this.#parts.storage.get(signal));
  }

  /** Updates `lease`, the Lease as last seen, or creates it if `lease` is undefined. */
  write(
    lease: KubernetesObject | undefined,
    change: Omit<RecordChange, 'wallTime'>,
  ): Promise<KubernetesObject> {
    const { clock, storage } = this.#parts;
    const timed = { ...change, wallTime: clock.wallTime() };
    if (lease === undefined) {
      return this.#call('create', (signal) => storage.create(newLockLease(storage.lease, timed), signal));
    }
    return this.#call('update', (signal) => storage.update(withRecord(lease, timed), signal));
  }

  async #call<T>(call: LockCall, request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, timeoutMs, onFailure } = this.#parts;
    const deadline = new Deadline(clock, timeoutMs, undefined);
    try {
      return await deadline.race(request(deadline.signal));
    } catch (cause) {
      const error = deadline.exceeded ? new Error(`no answer within ${timeoutMs} ms`, { cause }) : cause;
      onFailure(call, error);
      throw error;
    } finally {
      deadline.dispose();
    }
  }
}
