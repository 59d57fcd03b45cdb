import type { Clock, Instant } from '../support/clock.ts';
import type { WatchEnd } from './watch-stream.ts';

/**
 * After so many watches in a row that were silent, the state that they began from is suspect: of an etcd restored from a
 * backup, a server says nothing at all, bookmarks included, until it has written as much again as was lost.
 */
const MAX_STALLS = 2;

/** When a server was heard of, over one watch after the other and the lists in between. */
export class ServerContact {
  readonly #clock: Clock;
  #lastActivity: Instant | undefined;
  #unwatchedSince: Instant | undefined;
  /** Watches in a row that fell silent. Until one is not, it tells nothing that the server answers otherwise. */
  #stalls = 0;

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
    if (this.#stalls === 0) this.#lastActivity = this.#clock.now();
  }

  watchOpened(): void {
    this.#unwatchedSince = undefined;
    this.answered();
  }

  /** Something came over a watch. */
  heard(): void {
    this.#stalls = 0;
    this.answered();
  }

  /** Returns whether the state that watches begin from must be doubted. */
  watchEnded(how: WatchEnd | 'failed'): boolean {
    this.watchWanted();
    return how === 'stalled' && ++this.#stalls % MAX_STALLS === 0;
  }
}
