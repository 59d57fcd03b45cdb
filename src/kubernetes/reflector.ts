import { Backoff } from '../support/backoff.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import { EventLoopShare } from '../support/event-loop.ts';
import type { KubernetesClient } from './client.ts';
import { ConnectionError } from './errors.ts';
import { listAllPages, runWatch, type WatchEnd, type WatchEvent } from './list-watch.ts';
import { isKubernetesObject, type KubernetesObject } from './objects.ts';
import {
  afterDelay,
  afterDoubt,
  afterFailure,
  afterList,
  afterNews,
  afterWatch,
  assertNotSetBack,
  decideRecovery,
  listing,
  type ReflectorState,
  ServerContact,
  type Watching,
} from './reflector-state.ts';
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

/**
 * Keeps a store in sync with a resource of the server: lists it, watches it from there, and recovers from every error by
 * itself until it is stopped. After a gap the handler gets the difference.
 */
export class Reflector<T> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: ObjectStore<T>;
  readonly #stopping = new AbortController();
  readonly #backoff: Backoff;
  readonly #contact: ServerContact;
  readonly #share: EventLoopShare;
  #running: Promise<void> | undefined;
  #state: ReflectorState = listing;
  #synced = false;
  #watchEnd: AbortController | undefined;

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new ObjectStore((raw, previous) => this.#decode(raw, previous));
    this.#backoff = new Backoff(BACKOFF, options.clock);
    this.#contact = new ServerContact(options.clock);
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
    return this.#contact.lastActivity;
  }

  /** Since when no watch is open, so that changes are not seen; undefined before the start, and while a watch is open. */
  get unwatchedSince(): Instant | undefined {
    return this.#contact.unwatchedSince;
  }

  /** True when the first list is in the store and handled. */
  hasSynced(): boolean {
    return this.#synced;
  }

  /** Starts the reflector, once. It cannot start again after {@link Reflector.stop}. */
  start(): void {
    this.#contact.watchWanted();
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
    this.#state = afterDoubt(this.#state, this.#options.clock.now());
    if (this.#state.kind === 'listing') this.#watchEnd?.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const state = this.#state;
      try {
        await this.#act(state);
      } catch (error) {
        if (!signal.aborted) this.#recover(error, state.kind === 'listing' ? 'list' : 'watch');
      }
    }
  }

  async #act(state: ReflectorState): Promise<void> {
    switch (state.kind) {
      case 'listing':
        return await this.#list();
      case 'watching':
        return await this.#watch(state);
      case 'backingOff':
        await sleep(this.#options.clock, state.delayMs, this.#stopping.signal);
        this.#state = afterDelay(this.#state, this.#options.clock.now(), this.unwatchedSince);
    }
  }

  #recover(error: unknown, during: 'list' | 'watch'): void {
    const failure = decideRecovery(error);
    const mayGoOn = during === 'watch' && failure.forgotten && this.#contact.forgottenAnew();
    const retryInMs = Math.max(mayGoOn ? 0 : this.#backoff.failed(), failure.minDelayMs);
    this.#state = afterFailure(this.#state, failure, retryInMs);
    this.#report(error, { during, retryInMs });
    if (failure.notServed) this.#guard(() => this.#options.onNotServed?.());
  }

  async #list(): Promise<void> {
    const { client, clock, path, query = {} } = this.#options;
    const startedAt = clock.now();
    this.#observe({ type: 'listing' });
    let replacement = this.#store.beginReplacement();
    const { resourceVersion, ...size } = await listAllPages(client, {
      path,
      query,
      deadlineMs: PAGE_DEADLINE_MS,
      signal: this.#stopping.signal,
      begin: () => {
        replacement = this.#store.beginReplacement();
        return (items) =>
          this.#share.take(() => {
            // An answer can arrive in the same turn as stop() is called.
            if (this.#stopping.signal.aborted) return;
            this.#contact.answered();
            this.#deliver(replacement.add(items.filter(this.#isUsable)), true);
          });
      },
    });
    if (this.#stopping.signal.aborted) return;
    this.#deliver(replacement.complete(), true);
    this.#backoff.succeeded();
    this.#state = afterList(resourceVersion, startedAt);
    this.#observe({ type: 'listed', ...size, durationMs: clock.now() - startedAt });
    if (this.#synced || this.#stopping.signal.aborted) return;
    this.#synced = true;
    this.#guard(() => this.#options.onSynced?.());
  }

  async #watch({ resourceVersion, isResumed }: Watching): Promise<void> {
    const { client, clock, path, query = {}, stallMs = DEFAULT_STALL_MS } = this.#options;
    const { signal } = this.#stopping;
    if (isResumed) await assertNotSetBack(client, { path, query, resourceVersion, signal });
    if (signal.aborted || this.#state.kind !== 'watching') return;
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
          this.#contact.watchOpened();
          this.#backoff.succeeded();
          this.#observe({ type: 'watchStarted' });
        },
        onActivity: () => this.#contact.heard(),
        onEvent: (event) => this.#take(event),
      });
    } finally {
      this.#contact.watchEnded(how);
      this.#state = afterWatch(this.#state);
      if (openedAt !== undefined) this.#observe({ type: 'watchEnded', how });
    }
    const short = openedAt !== undefined && clock.now() - openedAt < SHORT_WATCH_MS;
    const isWhereItWas = this.#state.kind === 'watching' && this.#state.resourceVersion === resourceVersion;
    if (how === 'closed' && short && isWhereItWas) {
      throw new ConnectionError(`GET ${path}: the watch was closed as soon as it was opened`, {
        code: 'WATCH_CLOSED_EARLY',
      });
    }
  }

  #take(event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      this.#state = afterNews(this.#state, event.resourceVersion);
      return;
    }
    const changes =
      event.type === 'DELETED' ? this.#store.remove(event.object) : this.#store.put(event.object);
    const { resourceVersion } = event.object.metadata;
    if (resourceVersion) this.#state = afterNews(this.#state, resourceVersion);
    this.#deliver(changes, false);
  }

  #deliver(changes: readonly StoreChange<T>[], isListed: boolean): void {
    const initial = !this.#synced;
    for (const { type, object, previous } of changes) {
      // A handler may itself have called stop().
      if (this.#stopping.signal.aborted) return;
      this.#guard(() => this.#options.handler({ type, object, previous, initial, isListed }));
    }
  }

  readonly #isUsable = (item: unknown): item is KubernetesObject => {
    const usable = isKubernetesObject(item);
    if (!usable)
      this.#report(new TypeError('an item of the list is no object with a name'), { during: 'decode' });
    return usable;
  };

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
