import type { Clock, Instant } from '../clock.ts';
import { backoffMs } from '../election/time.ts';
import type { ElectionRecords } from './election-records.ts';
import type { LeaseKey } from './lease-key.ts';

/** An object that was written, or that a write to was refused for: the Lease itself, or one of its candidates. */
export type WrittenObject =
  | { readonly kind: 'lease' }
  | { readonly kind: 'candidate'; readonly name: string };

interface Expectation {
  readonly object: WrittenObject;
  /** What the write was decided on; undefined when the object did not exist. */
  readonly resourceVersion: string | undefined;
  readonly expiresAt: Instant;
}

interface Failures {
  readonly count: number;
  readonly retryAt: Instant;
}

/** If the watch has not shown a write by then it is stalled, and deciding on old news is better than not deciding. */
const EXPECTATION_MS = 10_000;
const BACKOFF_BASE_MS = 20;
const BACKOFF_CAP_MS = 30_000;

/**
 * Keeps a Lease from being decided on again before the cache shows what came of the last decision (rule 8).
 *
 * Every write is based on one resourceVersion. Whether it succeeded or was refused as a conflict, the object is past
 * that version; so the cache has caught up as soon as it shows any other.
 */
export class WriteBarrier {
  readonly #clock: Clock;
  readonly #records: ElectionRecords;
  readonly #onUnexplained: (kind: WrittenObject['kind']) => void;
  readonly #expectations = new Map<LeaseKey, Expectation[]>();
  readonly #failures = new Map<LeaseKey, Failures>();

  /**
   * @param onUnexplained the cache goes on showing what a write is known to have found outdated: it has missed something,
   *   as happens when etcd is restored from a backup, and may go on missing it.
   */
  constructor(clock: Clock, records: ElectionRecords, onUnexplained: (kind: WrittenObject['kind']) => void) {
    this.#clock = clock;
    this.#records = records;
    this.#onUnexplained = onUnexplained;
  }

  /** When the Lease may be decided on, unless the cache catches up before; undefined when it may be right now. */
  closedUntil(key: LeaseKey): Instant | undefined {
    const now = this.#clock.now();
    const { retryAt = now } = this.#failures.get(key) ?? {};
    if (retryAt > now) return retryAt;
    const unmet = (this.#expectations.get(key) ?? []).filter((each) => this.#isUnmet(key, each));
    const open = unmet.filter(({ expiresAt }) => now < expiresAt);
    for (const { object, expiresAt } of unmet) if (now >= expiresAt) this.#onUnexplained(object.kind);
    if (open.length === 0) {
      this.#expectations.delete(key);
      return undefined;
    }
    this.#expectations.set(key, open);
    return Math.max(...open.map(({ expiresAt }) => expiresAt));
  }

  /** After a write that the server answered: what it was based on is past, whoever changed it. */
  expectChange(key: LeaseKey, object: WrittenObject, resourceVersion: string | undefined): void {
    const expectation = { object, resourceVersion, expiresAt: this.#clock.now() + EXPECTATION_MS };
    this.#expectations.set(key, [...(this.#expectations.get(key) ?? []), expectation]);
  }

  /** After a decision whose writes did not all succeed. The first conflict costs nothing: it is how races end. */
  failed(key: LeaseKey, floorMs: number, isConflict: boolean): Instant {
    const count = (this.#failures.get(key)?.count ?? 0) + 1;
    const attempt = isConflict ? count - 1 : count;
    const delayMs = attempt === 0 ? 0 : backoffMs(attempt, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
    const jitteredMs = delayMs * (0.5 + 0.5 * this.#clock.random());
    const retryAt = this.#clock.now() + Math.max(floorMs, jitteredMs);
    this.#failures.set(key, { count, retryAt });
    return retryAt;
  }

  /** There is nothing left to write about. */
  forget(key: LeaseKey): void {
    this.#expectations.delete(key);
    this.#failures.delete(key);
  }

  /** After a decision that was applied whole. */
  succeeded(key: LeaseKey): void {
    this.#failures.delete(key);
  }

  #isUnmet(key: LeaseKey, { object, resourceVersion }: Expectation): boolean {
    const cached =
      object.kind === 'lease' ? this.#records.lease(key) : this.#records.candidate(key, object.name);
    return cached?.resourceVersion === resourceVersion;
  }
}
