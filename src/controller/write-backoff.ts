import type { LeaseKey } from '../coordination/lease-key.ts';
import { backoffDelayMs } from '../support/backoff.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { type WrittenObject, WrittenObjects } from './written-objects.ts';

const BACKOFF = { initialMs: 20, maxMs: 30_000 };

/** Spaces out attempts to write one object that fail in a row. */
export class WriteBackoff {
  readonly #clock: Clock;
  readonly #failures = new WrittenObjects<{ readonly count: number; readonly retryAt: Instant }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** When the object may be written again; undefined when it may be right now. */
  retryAt(key: LeaseKey, object: WrittenObject): Instant | undefined {
    const { retryAt } = this.#failures.get(key, object) ?? {};
    return retryAt !== undefined && retryAt > this.#clock.now() ? retryAt : undefined;
  }

  /** A write did not succeed. The first conflict costs nothing: it is how races end. */
  failed(key: LeaseKey, object: WrittenObject, floorMs: number, isConflict: boolean): void {
    const count = (this.#failures.get(key, object)?.count ?? 0) + 1;
    const delayMs = backoffDelayMs(isConflict ? count - 1 : count, BACKOFF, this.#clock.random());
    this.#failures.set(key, object, { count, retryAt: this.#clock.now() + Math.max(floorMs, delayMs) });
  }

  /** The object is gone. */
  forgetObject(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  /** A write succeeded: the next failure is the first one again. */
  succeeded(key: LeaseKey, object: WrittenObject): void {
    this.#failures.delete(key, object);
  }

  /** Of how many objects something is remembered. */
  get size(): number {
    return this.#failures.size;
  }

  /** There is nothing left to write about. */
  forget(key: LeaseKey): void {
    this.#failures.forget(key);
  }
}
