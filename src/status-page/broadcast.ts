import type { Clock, Instant } from '../support/clock.ts';
import type { Board } from './board.ts';
import { type Encode, type Sink, type StreamEncoding, Viewer } from './viewer.ts';
import { type HelloMessage, type Messages, pageJson, type StateMessage } from './wire.ts';

/** What a {@link Broadcast} tells of. */
export interface BroadcastParts {
  readonly clock: Clock;
  readonly board: Board;
  readonly timeline: { readonly lastId: number; after(id: number): Messages['elections'] };
  readonly hello: HelloMessage;
  readonly state: () => StateMessage;
  /** Told of what should never happen. It ends all streams, and nothing else: readers come again. */
  readonly onError: (error: unknown) => void;
}

/** So many may look at once; whoever comes later is told to wait. */
export const MAX_VIEWERS = 16;
/** Changes are gathered for so long before they are told, in milliseconds. */
const TICK_MS = 250;
/** While somebody has much to catch up with, so long is left to everything else between two messages. */
const PAUSE_MS = 5;
/** Leases looked at in one go: a few milliseconds of work, so that no election waits for longer. */
const LEASES_PER_TURN = 200;
const BEAT_MS = 10_000;
/** A reader that takes nothing for so long is gone. */
const MAX_CLOG_MS = 30_000;

/**
 * Tells everybody who looks what is on the board: first all of it, then what changes, at most four times a second. Readers
 * are told how a Lease is now, never what it was before: whoever is slow misses states in between and nothing else. While
 * nobody looks nothing is done.
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

  /** Begins to tell `sink` everything, until the returned function is called; undefined when there are too many already. */
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
      // Who has caught up is told no more than so many times a second.
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

/** Within one turn many are told the same. */
function encodeOnce(): Encode {
  const encoded = new Map<string, Buffer>();
  return (encoding, text) => {
    const key = `${encoding.name} ${text}`;
    const known = encoded.get(key) ?? encoding.encode(text);
    encoded.set(key, known);
    return known;
  };
}
