import { Deadline } from '../../kubernetes/deadline.ts';
import type { KubernetesObject } from '../../kubernetes/objects.ts';
import type { Clock } from '../../support/clock.ts';
import { newLockLease, type RecordChange, withRecord } from './lock-record.ts';
import type { LockCall } from './lock-settings.ts';
import type { LockStorage } from './lock-storage.ts';

/** What {@link LockCalls} needs. */
export interface LockCallsParts {
  readonly clock: Clock;
  readonly storage: LockStorage;
  readonly timeoutMs: number;
  /** A call failed: it is open what the server has now. */
  readonly onFailure: (call: LockCall, error: unknown) => void;
}

/** The requests about the lock, each with a deadline of its own. */
export class LockCalls {
  readonly #parts: LockCallsParts;

  constructor(parts: LockCallsParts) {
    this.#parts = parts;
  }

  get(): Promise<KubernetesObject | undefined> {
    return this.#call('get', (signal) => this.#parts.storage.get(signal));
  }

  /** Writes on what was last seen; undefined: there is no Lease. */
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
