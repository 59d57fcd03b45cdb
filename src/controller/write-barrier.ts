import type { LeaseKey } from '../coordination/lease-key.ts';
import { backoffMs } from '../election/time.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectionRecords } from './election-records.ts';

/** An object that was written, or that a write to was refused for: the Lease itself, or one of its candidates. */
export type WrittenObject =
  | { readonly kind: 'lease' }
  | { readonly kind: 'candidate'; readonly name: string };

/** What is known of the writes to one object; absent while nothing keeps it from being written. */
interface Writes {
  readonly isUnderWay: boolean;
  /** What the last write was decided on, where the cache may still show that. */
  readonly basedOn: { readonly resourceVersion: string | undefined; readonly expiresAt: Instant } | undefined;
  readonly failures: number;
  readonly retryAt: Instant;
}

/** If the watch has not shown a write by then it is stalled, and deciding on old news is better than not deciding. */
const EXPECTATION_MS = 10_000;
const BACKOFF_BASE_MS = 20;
const BACKOFF_CAP_MS = 30_000;
const IDLE: Writes = {
  isUnderWay: false,
  basedOn: undefined,
  failures: 0,
  retryAt: Number.NEGATIVE_INFINITY,
};
/** No candidate has an empty name. */
const LEASE = '';

/**
 * Keeps an object from being written again before the cache shows what came of its last write (rule 8): the Lease, and
 * with it all that is decided about it, or one candidate.
 *
 * Every write is based on one resourceVersion. Whether it succeeded or was refused as a conflict, the object is past
 * that version; so the cache has caught up as soon as it shows any other.
 */
export class WriteBarrier {
  readonly #clock: Clock;
  readonly #records: ElectionRecords;
  readonly #onUnexplained: (kind: WrittenObject['kind']) => void;
  readonly #writes = new Map<LeaseKey, Map<string, Writes>>();

  /**
   * @param onUnexplained the cache goes on showing what a write is known to have found outdated: it has missed something,
   *   as happens when etcd is restored from a backup, and may go on missing it.
   */
  constructor(clock: Clock, records: ElectionRecords, onUnexplained: (kind: WrittenObject['kind']) => void) {
    this.#clock = clock;
    this.#records = records;
    this.#onUnexplained = onUnexplained;
  }

  /**
   * When the Lease may be decided on, unless the cache catches up or a write is answered before; undefined when it may
   * be right now.
   */
  closedUntil(key: LeaseKey): Instant | undefined {
    return this.#closedUntil(key, LEASE);
  }

  /** The same for a ping to a candidate, or its deletion. */
  candidateClosedUntil(key: LeaseKey, name: string): Instant | undefined {
    return this.#closedUntil(key, name);
  }

  /** A write is about to be sent. */
  begin(key: LeaseKey, object: WrittenObject): void {
    this.#set(key, idOf(object), { isUnderWay: true });
  }

  /** The server has answered a write: what it was based on is past, whoever changed it. */
  expectChange(key: LeaseKey, object: WrittenObject, resourceVersion: string | undefined): void {
    const basedOn = { resourceVersion, expiresAt: this.#clock.now() + EXPECTATION_MS };
    this.#set(key, idOf(object), { isUnderWay: false, basedOn });
  }

  /** A write did not succeed. The first conflict costs nothing: it is how races end. */
  failed(key: LeaseKey, object: WrittenObject, floorMs: number, isConflict: boolean): void {
    const id = idOf(object);
    const failures = (this.#writes.get(key)?.get(id)?.failures ?? 0) + 1;
    const attempt = isConflict ? failures - 1 : failures;
    const delayMs = attempt === 0 ? 0 : backoffMs(attempt, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
    const jitteredMs = delayMs * (0.5 + 0.5 * this.#clock.random());
    const retryAt = this.#clock.now() + Math.max(floorMs, jitteredMs);
    this.#set(key, id, { isUnderWay: false, failures, retryAt });
  }

  /** A write succeeded: the next failure is the first one again. */
  succeeded(key: LeaseKey, object: WrittenObject): void {
    this.#set(key, idOf(object), { isUnderWay: false, failures: 0, retryAt: Number.NEGATIVE_INFINITY });
  }

  /** There is nothing left to write about. */
  forget(key: LeaseKey): void {
    this.#writes.delete(key);
  }

  #closedUntil(key: LeaseKey, id: string): Instant | undefined {
    const writes = this.#writes.get(key)?.get(id);
    if (!writes) return undefined;
    const now = this.#clock.now();
    const { basedOn, retryAt } = writes;
    if (writes.isUnderWay) return Number.POSITIVE_INFINITY;
    if (retryAt > now) return retryAt;
    if (!basedOn) return undefined;
    if (this.#cached(key, id) === basedOn.resourceVersion) {
      if (now < basedOn.expiresAt) return basedOn.expiresAt;
      this.#onUnexplained(id === LEASE ? 'lease' : 'candidate');
    }
    this.#set(key, id, { basedOn: undefined });
    return undefined;
  }

  #set(key: LeaseKey, id: string, change: Partial<Writes>): void {
    const byId = this.#writes.get(key) ?? new Map<string, Writes>();
    const next = { ...(byId.get(id) ?? IDLE), ...change };
    if (next.isUnderWay || next.basedOn || next.failures > 0) this.#writes.set(key, byId.set(id, next));
    else if (byId.delete(id) && byId.size === 0) this.#writes.delete(key);
  }

  #cached(key: LeaseKey, id: string): string | undefined {
    const { resourceVersion } =
      (id === LEASE ? this.#records.lease(key) : this.#records.candidate(key, id)) ?? {};
    return resourceVersion;
  }
}

function idOf(object: WrittenObject): string {
  return object.kind === 'lease' ? LEASE : object.name;
}
