import type { Clock, Instant } from '../support/clock.ts';
import { isJsonObject } from '../support/json.ts';
import type { KubernetesClient, Query } from './client.ts';
import { ApiError, ConnectionError } from './errors.ts';
import type { WatchEnd } from './list-watch.ts';
import { isOlderVersion } from './objects.ts';

/** After so many refusals to go on from one place, that place itself is suspect. */
const MAX_REFUSALS = 5;
/** Evidence that comes sooner after a list is not acted on, in milliseconds: should it be wrong, lists cost little. */
const RELIST_INTERVAL_MS = 60_000;

/**
 * After so many milliseconds without a watch, list again. The server's storage may have been restored from a backup
 * meanwhile and be past the place of the watch again: the watch would never show the changes up to that place.
 */
const UNWATCHED_MS = 10_000;

/**
 * What a reflector is doing between its start and its stop, which may come at any point: it lists once, watches from
 * there on, and lists again when it has lost its place or must doubt it. Whatever fails is followed by a delay.
 */
export type ReflectorState = Listing | Watching | BackingOff;

/** It reads everything, page by page; what is gone from the server is in the store until the last page has come. */
export interface Listing {
  readonly kind: 'listing';
}

/** It follows the changes from a place on, by one watch after the other, as a server ends each after some minutes. */
export interface Watching {
  readonly kind: 'watching';
  /** The newest place that the list, an event or a bookmark has told of: where the next watch begins. */
  readonly resourceVersion: string;
  /** Whether a watch has gone on from the list before, so that the server may be another by now. */
  readonly isResumed: boolean;
  /** How often the server has refused to go on from there. */
  readonly refusals: number;
  /** When the last list was begun. */
  readonly listedAt: Instant;
}

/** A list or a watch has failed: it waits for `delayMs`, and then does `next`. */
export interface BackingOff {
  readonly kind: 'backingOff';
  readonly delayMs: number;
  /** Watching, from where it was; listing, when that place is lost or suspect. */
  readonly next: Listing | Watching;
}

/** The first state, and the one after a place that is lost. */
export const listing: Listing = { kind: 'listing' };

/** The state after a list, begun at `listedAt`, of what there is at `resourceVersion`. */
export function afterList(resourceVersion: string, listedAt: Instant): Watching {
  return { kind: 'watching', resourceVersion, isResumed: false, refusals: 0, listedAt };
}

/** The state after a watch, however it ended. */
export function afterWatch(state: ReflectorState): ReflectorState {
  return state.kind === 'watching' ? { ...state, isResumed: true } : state;
}

/** The state after an event or a bookmark of `resourceVersion`. */
export function afterNews(state: ReflectorState, resourceVersion: string): ReflectorState {
  return state.kind === 'watching' ? { ...state, resourceVersion, refusals: 0 } : state;
}

/** The state after a failure. */
export function afterFailure(state: ReflectorState, failure: Recovery, delayMs: number): BackingOff {
  const next = failure.relist || state.kind !== 'watching' ? listing : afterRefusal(state, failure.refused);
  return { kind: 'backingOff', delayMs, next };
}

/** The state at `now`, after the delay that a failure asked for; since `unwatchedSince` no watch has been open. */
export function afterDelay(
  state: ReflectorState,
  now: Instant,
  unwatchedSince: Instant = now,
): ReflectorState {
  if (state.kind !== 'backingOff') return state;
  const { next } = state;
  // A list since then has seen what the server has: where a watch alone fails, lists must not go on.
  const isOutOfTouch = next.kind === 'watching' && next.listedAt < unwatchedSince;
  return isOutOfTouch && now - unwatchedSince >= UNWATCHED_MS ? listing : next;
}

/** The state after evidence that the store is not in step with the server, which soon after a list counts for nothing. */
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

/** How to go on after a list or a watch has failed. */
export interface Recovery {
  /** Whether the watch cannot go on from where it was, so that everything has to be listed again. */
  readonly relist: boolean;
  /** Whether that is so as the server has forgotten the place, as it does in a restart: nothing is wrong with it. */
  readonly forgotten: boolean;
  /** Whether the server says that it does not know the resource. */
  readonly notServed: boolean;
  /** Whether the server itself refused to go on from this state, other than for being busy. */
  readonly refused: boolean;
  /** The shortest delay that the server asks for, in milliseconds. */
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
  // A connection that broke says nothing about our place; an answer that made no sense may have hidden an event.
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

/** The code of the error that tells of it. */
export const SET_BACK = 'SET_BACK';

/** Where a watch is to go on. */
export interface WatchPlace {
  readonly path: string;
  readonly query: Query;
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
}

/**
 * Looks whether the server is at least where a watch is to go on, and rejects with a {@link ConnectionError} (`SET_BACK`)
 * when it is not, or as the client does. A server whose etcd was restored from a backup accepts such a watch, and sends
 * nothing, bookmarks included, until as much has been written again as was lost; what happens until then is never seen.
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
 * A server that forgets each state at once says so more often than this, in milliseconds, however long a reflector waits in
 * between, which is 10 s at most.
 */
const FORGOTTEN_ANEW_MS = 20_000;

/** When a server was heard of, over one watch after the other and the lists in between. */
export class ServerContact {
  readonly #clock: Clock;
  #lastActivity: Instant | undefined;
  #unwatchedSince: Instant | undefined;
  /** Whether the last watch fell silent. Until one does not, it tells nothing that the server answers otherwise. */
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

  /** From now on there should be a watch. */
  watchWanted(): void {
    this.#unwatchedSince ??= this.#clock.now();
  }

  /** The server has answered a request. */
  answered(): void {
    if (!this.#isSilent) this.#lastActivity = this.#clock.now();
  }

  watchOpened(): void {
    this.#unwatchedSince = undefined;
    this.answered();
  }

  /** Something came over a watch. */
  heard(): void {
    this.#isSilent = false;
    this.answered();
  }

  watchEnded(how: WatchEnd | 'failed'): void {
    this.watchWanted();
    this.#isSilent ||= how === 'stalled';
  }

  /**
   * The server has forgotten where a watch was. Returns whether that is news: that a server is back after an outage is no
   * failure more, as all must be listed at once; that it goes on so is one.
   */
  forgottenAnew(): boolean {
    const now = this.#clock.now();
    const last = this.#forgottenAt;
    this.#forgottenAt = now;
    return last === undefined || now - last >= FORGOTTEN_ANEW_MS;
  }
}
