import { Backoff } from '../support/backoff.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import { EventLoopShare } from '../support/event-loop.ts';
import type { KubernetesClient } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import { listAllPages, runWatch, type WatchEnd, type WatchEvent } from './list-watch.ts';
import { isKubernetesObject, type KubernetesObject } from './objects.ts';
import { assertNotSetBack, decideRecovery } from './recovery.ts';
import { ObjectStore, type StoreChange } from './store.ts';

/** A change, in the server's order. The store already contains it. */
export interface ReflectorEvent<T> extends StoreChange<T> {
  /** True for the first list: the object may be much older than the event. */
  readonly initial: boolean;
  /** True when a list has shown the object. The list skips the states since the watch before it ended. */
  readonly isListed: boolean;
}

/** What the reflector was doing when an error occurred, and when it retries. */
export interface ReflectorErrorContext {
  readonly path: string;
  readonly during: 'list' | 'watch' | 'decode' | 'callback';
  /** The delay before the next attempt, in milliseconds, if there is one. */
  readonly retryInMs?: number;
}

/** What a reflector does, for metrics. */
export type ReflectorObservation =
  /** A list begins. */
  | { readonly type: 'listing' }
  | { readonly type: 'listed'; readonly objects: number; readonly pages: number; readonly durationMs: number }
  | { readonly type: 'watchStarted' }
  | { readonly type: 'watchEnded'; readonly how: WatchEnd | 'failed' };

/** The options of a {@link Reflector}. Errors that a callback throws are reported to `onError` and have no other effect. */
export interface ReflectorOptions<T> {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Path of the resource, in all namespaces or in one: `/apis/coordination.k8s.io/v1/leases`. */
  readonly path: string;
  readonly query?: { readonly fieldSelector?: string; readonly labelSelector?: string };
  /** Called once per state of an object, with its previous state. If it throws, the state is skipped. */
  readonly decode: (raw: KubernetesObject, previous: T | undefined) => T;
  readonly handler: (event: ReflectorEvent<T>) => void;
  readonly onError?: (error: unknown, context: ReflectorErrorContext) => void;
  /** Called each time the server answers 404. The reflector retries until it is stopped. */
  readonly onNotServed?: () => void;
  /** Called when the first list is in the store and handled. */
  readonly onSynced?: () => void;
  readonly observe?: (observation: ReflectorObservation) => void;
  /**
   * Maximum silence of a watch before it is started again, in milliseconds; default 90,000, because bookmarks come every
   * minute.
   */
  readonly stallMs?: number;
}

const DEFAULT_STALL_MS = 90_000;
/** Deadline of each page of a list, in milliseconds; long, because a busy server answers slowly. */
const PAGE_DEADLINE_MS = 60_000;
/**
 * A watch that the server closes within this time, without an event, counts as failed, to prevent a busy loop. In
 * milliseconds.
 */
const SHORT_WATCH_MS = 1_000;
/** The maximum delay is short: a coordinator without a watch cannot elect. */
const BACKOFF = { initialMs: 200, maxMs: 10_000, resetAfterMs: 10_000 };
/** Maximum refusals of a watch from one resourceVersion. After that, the reflector lists again. */
const MAX_REFUSALS = 5;
/** Minimum time between a list and a list for a doubt, in milliseconds. It limits the cost of wrong doubts. */
const RELIST_INTERVAL_MS = 60_000;
/**
 * Time without a watch after which the reflector lists again, in milliseconds. The server's storage may have been restored
 * from a backup meanwhile, and may already be past the watch's resourceVersion again: the watch would never show the
 * changes before it.
 */
const UNWATCHED_MS = 10_000;
/**
 * Minimum time between two 410 answers that are treated as separate outages, in milliseconds. A server that always answers
 * 410 does so more often, because a reflector waits 10 s at most.
 */
const FORGOTTEN_ANEW_MS = 20_000;

/** Where the next watch continues. */
interface Place {
  /** The newest resourceVersion of the list, an event or a bookmark. */
  resourceVersion: string;
  /** When the list began. */
  readonly listedAt: Instant;
  /** True when a watch has already continued from the list: since then, another server may answer. */
  isResumed: boolean;
  /** How often the server has refused a watch from this resourceVersion. */
  refusals: number;
}

/**
 * Keeps a store in sync with a resource of the server, and recovers from every error by itself until it is stopped. It
 * lists once, then follows the changes with one watch after the other: a server ends each watch after some minutes. After
 * each failure it waits. It lists again when its place is lost or doubtful. Then the handler gets the difference.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: ObjectStore<T>;
  readonly #stopping = new AbortController();
  readonly #backoff: Backoff;
  readonly #share: EventLoopShare;
  #running: Promise<void> | undefined;
  /** Undefined: the next step is a list. */
  #place: Place | undefined;
  #synced = false;
  #watchEnd: AbortController | undefined;
  #lastActivity: Instant | undefined;
  #unwatchedSince: Instant | undefined;
  /** True after a watch stayed silent for too long. Then only data of a watch counts as activity. */
  #isSilent = false;
  #forgottenAt: Instant | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new ObjectStore((raw, previous) => this.#decode(raw, previous));
    this.#backoff = new Backoff(BACKOFF, options.clock);
    this.#share = new EventLoopShare(options.clock);
  }

  /** Returns all objects that are known to be on the server. */
  objects(): IterableIterator<T> {
    return this.#store.values();
  }

  /**
   * When the server last sent data, on the monotonic clock; undefined before the first. After a watch stayed silent for too
   * long, only data of a watch counts.
   */
  get lastActivity(): Instant | undefined {
    return this.#lastActivity;
  }

  /** Since when no watch is open, so that changes are not seen; undefined before the start, and while a watch is open. */
  get unwatchedSince(): Instant | undefined {
    return this.#unwatchedSince;
  }

  /** True when the first list is in the store and handled. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Starts the reflector, once. It cannot start again after {@link Reflector.stop}. */
  start(): void {
    this.#unwatchedSince ??= this.#options.clock.now();
    this.#running ??= this.#run();
  }

  /**
   * Stops the reflector in any state. When the promise resolves, no event is delivered any more and no request is in
   * flight.
   */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /**
   * Lists everything again, after evidence that the store differs from the server and that the watch does not correct it.
   * Has no effect soon after another list.
   */
  relist(): void {
    if (!this.#place || this.#options.clock.now() - this.#place.listedAt < RELIST_INTERVAL_MS) return;
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
    const isNewOutage = recovery === 'forgotten' && during === 'watch' && this.#isForgottenAnew();
    const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
    const retryInMs = Math.max(isNewOutage ? 0 : this.#backoff.failed(), askedMs);
    if (recovery === 'refused' && this.#place) this.#place.refusals++;
    const isLost = recovery === 'forgotten' || recovery === 'relist';
    if (isLost || (this.#place && this.#place.refusals >= MAX_REFUSALS)) this.#place = undefined;
    this.#report(error, { during, retryInMs });
    if (error instanceof ApiError && error.status === 404) this.#guard(() => onNotServed?.());
    await sleep(clock, retryInMs, this.#stopping.signal);
    if (this.#place && this.#isOutOfTouch(this.#place)) this.#place = undefined;
  }

  /**
   * True for the first 410 for some time, which is normal after an outage of the server: the reflector continues at once.
   * Repeated ones count as failures.
   */
  #isForgottenAnew(): boolean {
    const now = this.#options.clock.now();
    const last = this.#forgottenAt;
    this.#forgottenAt = now;
    return last === undefined || now - last >= FORGOTTEN_ANEW_MS;
  }

  /** A list during the time without a watch is recent enough: if only watches fail, the reflector must not list repeatedly. */
  #isOutOfTouch({ listedAt }: Place): boolean {
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
    // An answer can arrive in the same turn as stop() is called.
    if (this.#stopping.signal.aborted) return;
    this.#answered();
    for (const item of items) {
      if (isKubernetesObject(item)) this.#deliver(this.#store.put(item), true);
      else this.#report(new TypeError('an item of the list is no object with a name'), { during: 'decode' });
    }
  }

  async #watch(place: Place): Promise<void> {
    const { client, clock, path, query = {}, stallMs = DEFAULT_STALL_MS } = this.#options;
    const { signal } = this.#stopping;
    const { resourceVersion, isResumed } = place;
    if (isResumed) await assertNotSetBack(client, { path, query, resourceVersion, signal });
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
        stallMs,
        signal: AbortSignal.any([signal, this.#watchEnd.signal]),
        onOpen: () => {
          openedAt = clock.now();
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
    const isShort = openedAt !== undefined && clock.now() - openedAt < SHORT_WATCH_MS;
    if (how === 'closed' && isShort && place.resourceVersion === resourceVersion) {
      throw new ConnectionError(`GET ${path}: the watch was closed as soon as it was opened`, {
        code: 'WATCH_CLOSED_EARLY',
      });
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
      // A handler may itself have called stop().
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
      // An error in onError has no handler: drop it and keep the store in sync.
    }
  }
}

function advance(place: Place, resourceVersion: string | undefined): void {
  if (!resourceVersion) return;
  place.resourceVersion = resourceVersion;
  place.refusals = 0;
}
