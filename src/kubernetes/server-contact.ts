import type { Clock, Instant } from '../support/clock.ts';
import type { WatchEnd } from './watch-stream.ts';

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
