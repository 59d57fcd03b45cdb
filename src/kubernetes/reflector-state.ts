import type { Instant } from '../support/clock.ts';
import type { Recovery } from './recovery.ts';

/** After so many refusals to go on from one place, that place itself is suspect. */
const MAX_REFUSALS = 5;
/** Evidence that comes sooner after a list is not acted on, in milliseconds: should it be wrong, lists cost little. */
const RELIST_INTERVAL_MS = 60_000;

/**
 * Who has seen nothing for so long, in milliseconds, lists anew: a server whose storage was restored from a backup meanwhile
 * may be past the place of the watch again, and what was written until there would never be seen.
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
