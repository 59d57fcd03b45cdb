import type { Clock, Instant } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient, Query } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import type { WatchEnd } from './list-watch.ts';
import { isOlderVersion } from './objects.ts';

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
 * What a reflector does between its start and its stop, which may come at any time. It lists once and watches from there.
 * It lists again when its resourceVersion is lost or doubtful. After each failure it waits.
 */
export type ReflectorState = Listing | Watching | BackingOff;

/** Reads all objects, page by page. Objects that are gone from the server stay in the store until the last page. */
export interface Listing {
  readonly kind: 'listing';
}

/**
 * Follows the changes from a resourceVersion on, with one watch after the other: a server ends each watch after some
 * minutes.
 */
export interface Watching {
  readonly kind: 'watching';
  /** The newest resourceVersion of the list, an event or a bookmark: the next watch starts from it. */
  readonly resourceVersion: string;
  /** True when a watch has already continued from the list: since then, another server may answer. */
  readonly isResumed: boolean;
  /** How often the server has refused a watch from this resourceVersion. */
  readonly refusals: number;
  /** When the last list began. */
  readonly listedAt: Instant;
}

/** A list or a watch has failed: the reflector waits for `delayMs`, then continues with `next`. */
export interface BackingOff {
  readonly kind: 'backingOff';
  readonly delayMs: number;
  /** Watching from the same resourceVersion, or listing when that is lost or doubtful. */
  readonly next: Listing | Watching;
}

/** The first state, and the state after a lost resourceVersion. */
export const listing: Listing = { kind: 'listing' };

/** Returns the state after a list that began at `listedAt` and shows `resourceVersion`. */
export function afterList(resourceVersion: string, listedAt: Instant): Watching {
  return { kind: 'watching', resourceVersion, isResumed: false, refusals: 0, listedAt };
}

/** Returns the state after a watch, with or without an error. */
export function afterWatch(state: ReflectorState): ReflectorState {
  return state.kind === 'watching' ? { ...state, isResumed: true } : state;
}

/** Returns the state after an event or a bookmark of `resourceVersion`. */
export function afterNews(state: ReflectorState, resourceVersion: string): ReflectorState {
  return state.kind === 'watching' ? { ...state, resourceVersion, refusals: 0 } : state;
}

export function afterFailure(state: ReflectorState, failure: Recovery, delayMs: number): BackingOff {
  const next = failure.relist || state.kind !== 'watching' ? listing : afterRefusal(state, failure.refused);
  return { kind: 'backingOff', delayMs, next };
}

/** Returns the state at `now`, after the delay of a failure. No watch has been open since `unwatchedSince`. */
export function afterDelay(
  state: ReflectorState,
  now: Instant,
  unwatchedSince: Instant = now,
): ReflectorState {
  if (state.kind !== 'backingOff') return state;
  const { next } = state;
  // A list after `unwatchedSince` is recent enough: if only watches fail, the reflector must not list again and again.
  const isOutOfTouch = next.kind === 'watching' && next.listedAt < unwatchedSince;
  return isOutOfTouch && now - unwatchedSince >= UNWATCHED_MS ? listing : next;
}

/** Returns the state after evidence that the store differs from the server. Evidence soon after a list is ignored. */
export function afterDoubt(state: ReflectorState, now: Instant): ReflectorState {
  if (state.kind === 'backingOff')
    return { ...state, next: isSuspect(state.next, now) ? listing : state.next };
  return isSuspect(state, now) ? listing : state;
}

function afterRefusal(state: Watching, isRefusal: boolean): Listing | Watching {
  const refusals = state.refusals + (isRefusal ? 1 : 0);
  return refusals < MAX_REFUSALS ? { ...state, refusals } : listing;
}

function isSuspect(state: Listing | Watching, now: Instant): boolean {
  return state.kind === 'watching' && now - state.listedAt >= RELIST_INTERVAL_MS;
}

/** How to continue after a failed list or watch. */
export interface Recovery {
  /** True when the watch cannot continue from its resourceVersion, so that the reflector has to list again. */
  readonly relist: boolean;
  /** True when the server no longer has the resourceVersion. This is normal after a restart of the server. */
  readonly forgotten: boolean;
  /** True when the server does not serve the resource. */
  readonly notServed: boolean;
  /** True when the server itself refused to continue from this resourceVersion, for another reason than overload. */
  readonly refused: boolean;
  /** The minimum delay that the server asks for, in milliseconds. */
  readonly minDelayMs: number;
}

/** Decides how to go on after a failure. */
export function decideRecovery(error: unknown): Recovery {
  if (error instanceof ApiError) {
    return {
      relist: losesPlace(error),
      forgotten: isForgotten(error),
      notServed: error.status === 404,
      refused: error.status !== 429,
      minDelayMs: error.retryAfterMs ?? 0,
    };
  }
  if (error instanceof ConnectionError && error.code === SET_BACK)
    return { relist: true, forgotten: true, notServed: false, refused: false, minDelayMs: 0 };
  // A broken connection does not make our resourceVersion doubtful. A malformed answer does: it may have hidden an event.
  const broken = error instanceof ConnectionError && error.code !== 'MALFORMED_ANSWER';
  return { relist: !broken, forgotten: false, notServed: false, refused: false, minDelayMs: 0 };
}

function losesPlace(error: ApiError): boolean {
  if (isForgotten(error)) return true;
  const mayPass = error.status === 401 || error.status === 403 || error.status === 429 || error.status >= 500;
  return !mayPass;
}

function isForgotten({ status, reason }: ApiError): boolean {
  return status === 410 || reason === 'Expired' || reason === 'Gone';
}

/** The code of the error for a server that was set back. */
export const SET_BACK = 'SET_BACK';

/** The resource and the resourceVersion from which a watch continues. */
export interface WatchPlace {
  readonly path: string;
  readonly query: Query;
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

/**
 * Checks that the server is not older than the resourceVersion of a watch. Rejects with a {@link ConnectionError}
 * (`SET_BACK`) if it is, or like the client. A server whose etcd was restored from a backup accepts such a watch, but sends
 * nothing, not even bookmarks, until its resourceVersion is past the watch's again. The watch never shows the changes
 * before that.
 */
export async function assertNotSetBack(
  client: KubernetesClient,
  { path, query, resourceVersion, signal }: WatchPlace,
): Promise<void> {
  // Without a resourceVersion, the answer is never older than any earlier answer of the server.
  const answer = await client.request({ method: 'GET', path, query: { ...query, limit: 1 }, signal });
  const metadata = isJsonObject(answer['metadata']) ? answer['metadata'] : {};
  const now = metadata['resourceVersion'];
  if (typeof now !== 'string' || !isOlderVersion(now, resourceVersion)) return;
  const message = `GET ${path}: the server is at ${now}, which is before ${resourceVersion}: its storage was restored from a backup`;
  throw new ConnectionError(message, { code: SET_BACK });
}

/**
 * Minimum time between two 410 answers that are treated as separate outages, in milliseconds. A server that always answers
 * 410 does so more often, because a reflector waits 10 s at most.
 */
const FORGOTTEN_ANEW_MS = 20_000;

/** When the server last answered, over all watches and lists. */
export class ServerContact {
  readonly #clock: Clock;
  #lastActivity: Instant | undefined;
  #unwatchedSince: Instant | undefined;
  /**
   * True after a watch stayed silent for too long. Then other answers of the server do not count, until a watch works
   * again.
   */
  #isSilent = false;
  #forgottenAt: Instant | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** See `Reflector.lastActivity`. */
  get lastActivity(): Instant | undefined {
    return this.#lastActivity;
  }

  /** See `Reflector.unwatchedSince`. */
  get unwatchedSince(): Instant | undefined {
    return this.#unwatchedSince;
  }

  /** Records that a watch should be open from now on. */
  watchWanted(): void {
    this.#unwatchedSince ??= this.#clock.now();
  }

  /** Records that the server has answered a request. */
  answered(): void {
    if (!this.#isSilent) this.#lastActivity = this.#clock.now();
  }

  watchOpened(): void {
    this.#unwatchedSince = undefined;
    this.answered();
  }

  /** Records that data arrived over a watch. */
  heard(): void {
    this.#isSilent = false;
    this.answered();
  }

  watchEnded(how: WatchEnd | 'failed'): void {
    this.watchWanted();
    this.#isSilent ||= how === 'stalled';
  }

  /**
   * Records a 410: the server no longer has the resourceVersion of a watch. Returns true for the first 410 for some time,
   * which is normal after an outage of the server. Returns false for repeated ones, which count as failures.
   */
  forgottenAnew(): boolean {
    const now = this.#clock.now();
    const last = this.#forgottenAt;
    this.#forgottenAt = now;
    return last === undefined || now - last >= FORGOTTEN_ANEW_MS;
  }
}
