import type { Clock, Instant } from '../support/clock.ts';
import type { Board } from './board.ts';
import { type Encode, type Sink, type StreamEncoding, Viewer } from './viewer.ts';
import { type HelloMessage, type Messages, pageJson, type StateMessage } from './wire.ts';

/** The sources of a {@link Broadcast}. */
export interface BroadcastParts {
  readonly clock: Clock;
  readonly board: Board;
  readonly timeline: { readonly lastId: number; after(id: number): Messages['elections'] };
  readonly hello: HelloMessage;
  readonly state: () => StateMessage;
  /** Called for an internal error. All streams end, and readers reconnect. */
  readonly onError: (error: unknown) => void;
}

/** Maximum number of open streams. Further readers must retry later. */
export const MAX_VIEWERS = 16;
/** Interval at which changes are sent, in milliseconds. */
const TICK_MS = 250;
/** Pause between two messages to a reader that catches up, in milliseconds, for other work. */
const PAUSE_MS = 5;
/** Leases per update: a few milliseconds of work, so that elections do not wait. */
const LEASES_PER_TURN = 200;
const BEAT_MS = 10_000;
/** A reader that reads nothing for this time is disconnected, in milliseconds. */
const MAX_CLOG_MS = 30_000;

/**
 * Sends the board to all readers: first all of it, then changes, at most four times a second. A message has the current
 * state of a Lease, so that a slow reader misses only intermediate states. Without readers, the broadcast does no work.
 */
export class Broadcast {
  readonly #parts: BroadcastParts;
  readonly #viewers = new Set<Viewer>();
  #cancelTurn: (() => void) | undefined;
  #nextTickAt = 0;

  constructor(parts: BroadcastParts) {
    this.#parts = parts;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  /** Starts a stream to `sink`. The returned function ends it. Undefined if there are too many streams. */
  join(sink: Sink, encoding: StreamEncoding): (() => void) | undefined {
    if (this.#viewers.size >= MAX_VIEWERS) return undefined;
    const { clock, board, hello } = this.#parts;
    board.open();
    const now = clock.now();
    const viewer = new Viewer(sink, encoding, board.keys(), now);
    this.#viewers.add(viewer);
    const encode = encodeOnce();
    viewer.tell('hello', hello, encode, now);
    viewer.tell('beat', { now: this.#wallMs() }, encode, now);
    this.#schedule(0);
    return () => this.#leave(viewer);
  }

  /** Ends all streams. */
  close(): void {
    for (const viewer of this.#viewers) {
      viewer.end();
      this.#leave(viewer);
    }
  }

  #leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return;
    this.#nextTickAt = 0;
    this.#cancelTurn?.();
    this.#cancelTurn = undefined;
    this.#parts.board.close();
  }

  #schedule(delayMs: number): void {
    this.#cancelTurn?.();
    this.#cancelTurn = this.#parts.clock.setTimer(() => {
      try {
        this.#turn();
      } catch (error) {
        this.close();
        this.#parts.onError(error);
      }
    }, delayMs);
  }

  #turn(): void {
    const { clock, board } = this.#parts;
    const now = clock.now();
    const isTick = now >= this.#nextTickAt;
    if (isTick) {
      this.#nextTickAt = (Math.floor(now / TICK_MS) + 1) * TICK_MS;
      board.gatherStale();
    }
    const changed = board.refresh(LEASES_PER_TURN);
    for (const viewer of this.#viewers) viewer.note(changed);
    this.#tell(isTick, now);
    if (this.#viewers.size === 0) return;
    const isAwaited = [...this.#viewers].some((viewer) => viewer.isBehind && viewer.hasRoom(now));
    this.#schedule(isAwaited || board.isRefreshing ? PAUSE_MS : Math.max(0, this.#nextTickAt - clock.now()));
  }

  #tell(isTick: boolean, now: Instant): void {
    const { board, timeline, state } = this.#parts;
    const encode = encodeOnce();
    const stateText = pageJson(state());
    for (const viewer of this.#viewers) {
      if (!viewer.hasRoom(now)) {
        if (viewer.cloggedMs(now) >= MAX_CLOG_MS) this.#cut(viewer);
        continue;
      }
      // A reader that has caught up gets messages only at each tick.
      if (!isTick && !viewer.isBehind) continue;
      viewer.tellState(stateText, encode, now);
      viewer.tellElections(timeline, encode, now);
      viewer.tellLeases((key) => board.text(key), encode, now);
      if (board.isLoaded) viewer.tellComplete(board.size, encode, now);
      if (viewer.quietMs(now) >= BEAT_MS) viewer.tell('beat', { now: this.#wallMs() }, encode, now);
    }
  }

  #cut(viewer: Viewer): void {
    viewer.cut();
    this.#leave(viewer);
  }

  #wallMs(): number {
    return Number(this.#parts.clock.wallTime() / 1000n);
  }
}

/** Returns a function that encodes a message once for all readers in the same turn. */
function encodeOnce(): Encode {
  const encoded = new Map<string, Buffer>();
  return (encoding, text) => {
    const key = `${encoding.name} ${text}`;
    const known = encoded.get(key) ?? encoding.encode(text);
    encoded.set(key, known);
    return known;
  };
}
