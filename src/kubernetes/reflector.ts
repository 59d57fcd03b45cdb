import { Backoff } from '../support/backoff.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import { EventLoopShare } from '../support/event-loop.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError, connectionError, hasStatus } from './errors.ts';
import { listAllPages, runWatch, type WatchEnd, type WatchEvent } from './list-watch.ts';
import { isKubernetesObject, type KubernetesObject } from './objects.ts';
import { assertNotRestored, decideRecovery } from './recovery.ts';
import { ObjectStore, type StoreChange } from './store.ts';

/**
 * A change that the store already contains. Changes from a watch come in the order of their arrival. Changes from a
 * list come in the order of its items. The deletions of objects that the list does not contain come last.
 */
export interface ReflectorEvent<T> extends StoreChange<T> {
  /** True for events of the first complete list, and of failed lists before it. The changes may have happened long ago. */
  readonly initial: boolean;
  /** True if the event comes from a list, which shows only the last state: earlier changes may be missing. */
  readonly isListed: boolean;
}

/** What the reflector was doing when the error occurred, and when it retries. */
export interface ReflectorErrorContext {
  readonly path: string;
  readonly during: 'list' | 'watch' | 'decode' | 'callback';
  /** The delay before the next attempt, in milliseconds; absent if the error causes no new attempt. */
  readonly retryInMs?: number;
}

/** The beginning or the end of a list or a watch. After a failed list, there is no `listed`. */
export type ReflectorObservation =
  | { readonly type: 'listing' }
  | { readonly type: 'listed'; readonly objects: number; readonly pages: number; readonly durationMs: number }
  | { readonly type: 'watchStarted' }
  | { readonly type: 'watchEnded'; readonly how: WatchEnd | 'failed' };

/** The reflector reports errors of callbacks to `onError`, and continues. It drops errors that `onError` throws. */
export interface ReflectorOptions<T> {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Path of the objects to list and watch, for example `/apis/coordination.k8s.io/v1/leases` for all Leases. */
  readonly path: string;
  readonly query?: { readonly fieldSelector?: string; readonly labelSelector?: string };
  /**
   * Converts an object from the server. `previous` is the object that the store has under the same namespace and name;
   * undefined if the store has none. If `decode` throws, the store keeps `previous`, unless the event is DELETED.
   */
  readonly decode: (raw: KubernetesObject, previous: T | undefined) => T;
  readonly handler: (event: ReflectorEvent<T>) => void;
  readonly onError?: (error: unknown, context: ReflectorErrorContext) => void;
  /** Called each time the server answers a list or a watch with 404. The reflector retries until it is stopped. */
  readonly onNotServed?: () => void;
  /** Called once, when the first list is in the store and the handler has got its events. */
  readonly onSynced?: () => void;
  readonly observe?: (observation: ReflectorObservation) => void;
}

/** Time in ms without data after which the reflector restarts a watch. A server sends a bookmark every minute. */
const STALL_MS = 90_000;
/** Deadline of each page of a list, in milliseconds. Long, because a busy server answers slowly. */
const PAGE_DEADLINE_MS = 60_000;
/**
 * A watch counts as failed if the server closes it within this time (in ms) without a new resourceVersion. The
 * reflector then waits before the next watch. Otherwise, it would open watches in a busy loop.
 */
const SHORT_WATCH_MS = 1_000;
/** Delays after failed attempts, in ms. The maximum is short, because the reflector sees no changes during a delay. */
const BACKOFF = { initialMs: 200, maxMs: 10_000, resetAfterMs: 10_000 };
/** After this many `refused` failures ({@link decideRecovery}) at one resourceVersion, the reflector lists again. */
const MAX_REFUSALS = 5;
/** {@link Reflector.relist} does nothing for this time in ms after the start of a list: lists are expensive. */
const RELIST_INTERVAL_MS = 60_000;
/**
 * The reflector lists instead of watching if the last watch ended at least this long ago, in ms, and no list has begun
 * since. In the meantime, a restore from a backup may have set the server's resourceVersion back, and new writes may have
 * raised it past the resourceVersion of the last watch. A watch that continues from the old resourceVersion would miss
 * some of these writes. It would also show old releases, which would count as new (rule 8). For this reason, the
 * reflector also lists after a stalled watch.
 */
const UNWATCHED_MS = 10_000;
/**
 * When a watch fails because the server no longer has its resourceVersion, the reflector lists at once. If the previous
 * such failure was less than this long ago, in ms, it backs off first. The value is twice the maximum backoff: backoff
 * plus list take less than that if a list takes less than 10 s.
 */
const GONE_AGAIN_MS = 20_000;

/** The position from which the next watch continues. */
interface Place {
  /** The newest resourceVersion from the list, an event or a bookmark. */
  resourceVersion: string;
  readonly listedAt: Instant;
  /** True after the first attempt to watch from this list. {@link assertNotRestored} runs before each later attempt. */
  isResumed: boolean;
  /** Number of `refused` failures ({@link decideRecovery}) since the list, or since the last event or bookmark. */
  refusals: number;
}

/**
 * Keeps a store in sync with a resource of the server. Lists all objects, then follows the changes with one watch after
 * the other, because a server ends each watch after some minutes. Retries after errors until it is stopped. If it can
 * no longer rely on its resourceVersion, it lists again, and the handler gets the differences.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: ObjectStore<T>;
  readonly #stopping = new AbortController();
  readonly #backoff: Backoff;
  readonly #share: EventLoopShare;
  #running: Promise<void> | undefined;
  /** Undefined if the next step is a list, not a watch. */
  #place: Place | undefined;
  #synced = false;
  #watchEnd: AbortController | undefined;
  #lastActivity: Instant | undefined;
  #unwatchedSince: Instant | undefined;
  /** True after a watch has stalled. While true, only data from a watch counts as activity. */
  #isSilent = false;
  #forgottenAt: Instant | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new ObjectStore((raw, previous) => this.#decode(raw, previous));
    this.#backoff = new Backoff(BACKOFF, options.clock);
    this.#share = new EventLoopShare(options.clock);
  }

  objects(): IterableIterator<T> {
    return this.#store.values();
  }

  /**
   * When the server last sent items of a list, accepted a watch, or sent data in a watch, on the monotonic clock;
   * undefined if never. After a watch has stalled, lists and accepted watches do not count until a watch delivers data.
   */
  get lastActivity(): Instant | undefined {
    return this.#lastActivity;
  }

  /** The time since which no watch is open; undefined before the start and while a watch is open. */
  get unwatchedSince(): Instant | undefined {
    return this.#unwatchedSince;
  }

  /** True after the first list is in the store and its events are handled. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Starts the reflector. Call it once: the reflector cannot restart after {@link Reflector.stop}. */
  start(): void {
    this.#unwatchedSince ??= this.#options.clock.now();
    this.#running ??= this.#run();
  }

  /** Stops the reflector. Afterwards, no event is delivered and no request is in flight. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Lists again: the store may be wrong. Does nothing if a list runs, is due, or began within {@link RELIST_INTERVAL_MS}. */
  relist(): void {
    if (!this.#place || this.#options.clock.now() - this.#place.listedAt < RELIST_INTERVAL_MS) return;
    this.#listNext();
  }

  #listNext(): void {
    this.#place = undefined;
    this.#watchEnd?.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const during = this.#place ? 'watch' : 'list';
      try {
        if (this.#place) await this.#watch(this.#place);
        else await this.#list();
      } catch (error) {
        if (!signal.aborted) await this.#recover(error, during);
      }
    }
  }

  async #recover(error: unknown, during: 'list' | 'watch'): Promise<void> {
    const { clock, onNotServed } = this.#options;
    const recovery = decideRecovery(error);
    const isNewOutage = recovery === 'forgotten' && during === 'watch' && this.#isFirstGone();
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = Math.max(isNewOutage ? 0 : this.#backoff.failed(), askedMs);
    if (recovery === 'refused' && this.#place) this.#place.refusals++;
    const isLost = recovery === 'forgotten' || recovery === 'relist';
    if (isLost || (this.#place && this.#place.refusals >= MAX_REFUSALS)) this.#place = undefined;
    this.#report(error, { during, retryInMs });
    if (hasStatus(error, 404)) this.#guard(() => onNotServed?.());
    await sleep(clock, retryInMs, this.#stopping.signal);
    if (this.#place && this.#isUnwatchedTooLong(this.#place)) this.#place = undefined;
  }

  /**
   * Records that the server no longer has the resourceVersion of the watch. Returns true for the first such failure in
   * {@link GONE_AGAIN_MS}. The reflector then lists at once, because one such failure is normal after an outage.
   */
  #isFirstGone(): boolean {
    const now = this.#options.clock.now();
    const last = this.#forgottenAt;
    this.#forgottenAt = now;
    return last === undefined || now - last >= GONE_AGAIN_MS;
  }

  /**
   * Returns true if the last watch ended at least {@link UNWATCHED_MS} ago, and no list has begun since that end.
   * Without the second condition, the reflector would list again and again while all watches fail.
   */
  #isUnwatchedTooLong({ listedAt }: Place): boolean {
    const since = this.#unwatchedSince;
    return since !== undefined && listedAt < since && this.#options.clock.now() - since >= UNWATCHED_MS;
  }

  async #list(): Promise<void> {
    const { client, clock, path, query = {} } = this.#options;
    const { signal } = this.#stopping;
    const listedAt = clock.now();
    this.#observe({ type: 'listing' });
    const { resourceVersion, ...size } = await listAllPages(client, {
      path,
      query,
      deadlineMs: PAGE_DEADLINE_MS,
      signal,
      begin: () => {
        this.#store.beginList();
        return (items) => this.#share.take(() => this.#takeItems(items));
      },
    });
    if (signal.aborted) return;
    this.#deliver(this.#store.endList(), true);
    this.#backoff.succeeded();
    this.#place = { resourceVersion, listedAt, isResumed: false, refusals: 0 };
    this.#observe({ type: 'listed', ...size, durationMs: clock.now() - listedAt });
    if (this.#synced || signal.aborted) return;
    this.#synced = true;
    this.#guard(() => this.#options.onSynced?.());
  }

  #takeItems(items: readonly unknown[]): void {
    // Items can arrive in the same turn of the event loop in which stop() is called.
    if (this.#stopping.signal.aborted) return;
    this.#answered();
    for (const item of items) {
      if (isKubernetesObject(item)) this.#deliver(this.#store.put(item), true);
      else
        this.#report(new TypeError('an item of the list is not an object with a name'), { during: 'decode' });
    }
  }

  async #watch(place: Place): Promise<void> {
    const { client, clock, path, query = {} } = this.#options;
    const { signal } = this.#stopping;
    const { resourceVersion, isResumed } = place;
    if (isResumed) await assertNotRestored(client, { path, query, resourceVersion, signal });
    if (signal.aborted || this.#place !== place) return;
    place.isResumed = true;
    this.#watchEnd = new AbortController();
    let openedAt: Instant | undefined;
    let how: WatchEnd | 'failed' = 'failed';
    try {
      how = await runWatch(client, clock, {
        path,
        query,
        resourceVersion,
        stallMs: STALL_MS,
        signal: AbortSignal.any([signal, this.#watchEnd.signal]),
        onOpen: () => {
          openedAt = clock.now();
          if (this.#isUnwatchedTooLong(place)) this.#listNext();
          this.#unwatchedSince = undefined;
          this.#answered();
          this.#backoff.succeeded();
          this.#observe({ type: 'watchStarted' });
        },
        onActivity: () => {
          this.#isSilent = false;
          this.#answered();
        },
        onEvent: (event) => this.#take(place, event),
      });
    } finally {
      this.#unwatchedSince ??= clock.now();
      this.#isSilent ||= how === 'stalled';
      if (openedAt !== undefined) this.#observe({ type: 'watchEnded', how });
    }
    if (how === 'stalled') this.#place = undefined;
    const isShort = openedAt !== undefined && clock.now() - openedAt < SHORT_WATCH_MS;
    if (how === 'closed' && isShort && place.resourceVersion === resourceVersion) {
      const problem = 'the watch was closed as soon as it was opened';
      throw connectionError({ method: 'GET', path }, 'WATCH_CLOSED_EARLY', problem);
    }
  }

  #take(place: Place, event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      advance(place, event.resourceVersion);
      return;
    }
    const { type, object } = event;
    const changes = type === 'DELETED' ? this.#store.remove(object) : this.#store.put(object);
    advance(place, object.metadata.resourceVersion);
    this.#deliver(changes, false);
  }

  #answered(): void {
    if (!this.#isSilent) this.#lastActivity = this.#options.clock.now();
  }

  #deliver(changes: readonly StoreChange<T>[], isListed: boolean): void {
    const initial = !this.#synced;
    for (const { type, object, previous } of changes) {
      // A handler may have called stop().
      if (this.#stopping.signal.aborted) return;
      this.#guard(() => this.#options.handler({ type, object, previous, initial, isListed }));
    }
  }

  #decode(raw: KubernetesObject, previous: T | undefined): T | undefined {
    try {
      return this.#options.decode(raw, previous);
    } catch (error) {
      this.#report(error, { during: 'decode' });
      return undefined;
    }
  }

  #observe(observation: ReflectorObservation): void {
    this.#guard(() => this.#options.observe?.(observation));
  }

  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#report(error, { during: 'callback' });
    }
  }

  #report(error: unknown, context: Omit<ReflectorErrorContext, 'path'>): void {
    const { path, onError } = this.#options;
    try {
      onError?.(error, { path, ...context });
    } catch {
      // Drop an error that onError itself throws: it has no other handler, and the store must stay in sync.
    }
  }
}

function advance(place: Place, resourceVersion: string | undefined): void {
  if (!resourceVersion) return;
  place.resourceVersion = resourceVersion;
  place.refusals = 0;
}
