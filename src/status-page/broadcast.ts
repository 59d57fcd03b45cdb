import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { Board, type LeaseSource } from './board.ts';
import { type HelloMessage, type Messages, pageJson, type StateMessage } from './wire.ts';

interface BroadcastParts {
  readonly clock: Clock;
  readonly source: LeaseSource;
  readonly electionsAfter: (id: number) => Messages['elections'];
  readonly hello: HelloMessage;
  readonly state: () => StateMessage;
  /** Called for an internal error. All streams end, and the readers reconnect. */
  readonly onError: (error: unknown) => void;
}

/** The part of a writable stream that a reader uses. */
export interface Sink {
  write(text: string): unknown;
  readonly writableLength: number;
  end(): unknown;
  /** Cuts the connection. */
  destroy(): unknown;
}

/** Maximum number of open streams. Further readers must retry later. */
export const MAX_READERS = 16;
const TICK_MS = 250;
/** Pause between two messages to a reader that is behind, in milliseconds. Other work runs in this time. */
const PAUSE_MS = 5;
/** Leases per turn: a few milliseconds of work, so that elections do not have to wait. */
const LEASES_PER_TURN = 200;
const BEAT_MS = 10_000;
/** A reader with more buffered bytes gets no messages for the moment. */
const MAX_UNSENT_BYTES = 512 * 1024;
/** A reader that reads nothing for this time is disconnected, in milliseconds. */
const MAX_STALL_MS = 30_000;

/**
 * Sends the board to all readers: first the complete board, then the changes, four times a second. A message contains
 * the current state of a Lease, so a slow reader only misses intermediate states. Without readers, the broadcast does
 * no work.
 */
export class Broadcast {
  readonly #parts: BroadcastParts;
  readonly #readers = new Set<Reader>();
  #board: Board | undefined;
  #cancelTurn = () => {};

  constructor(parts: BroadcastParts) {
    this.#parts = parts;
  }

  /** See {@link Board.touch}. */
  touch(key: LeaseKey, isRenewalOnly = false): void {
    this.#board?.touch(key, isRenewalOnly);
  }

  /** Starts a stream to `sink`. The returned function ends it. Returns undefined if there are too many streams. */
  join(sink: Sink): (() => void) | undefined {
    if (this.#readers.size >= MAX_READERS) return undefined;
    const { clock, source, hello } = this.#parts;
    this.#board ??= new Board(clock, source);
    const reader = new Reader(sink, clock, this.#board.rows.keys());
    this.#readers.add(reader);
    reader.send('hello', hello);
    reader.sendBeat();
    this.#schedule(0);
    return () => this.#leave(reader);
  }

  /** Ends all streams. Destroys the streams of slow readers, which would not end soon. */
  close(): void {
    for (const reader of this.#readers) {
      if (reader.hasRoom) reader.sink.end();
      else reader.sink.destroy();
      this.#leave(reader);
    }
  }

  #leave(reader: Reader): void {
    this.#readers.delete(reader);
    if (this.#readers.size > 0) return;
    this.#cancelTurn();
    this.#board = undefined;
  }

  #schedule(delayMs: number): void {
    this.#cancelTurn();
    this.#cancelTurn = this.#parts.clock.setTimer(() => {
      try {
        if (this.#board) this.#turn(this.#board);
      } catch (error) {
        this.close();
        this.#parts.onError(error);
      }
    }, delayMs);
  }

  #turn(board: Board): void {
    const { state, electionsAfter } = this.#parts;
    const changed = board.refresh(LEASES_PER_TURN);
    const stateJson = pageJson(state());
    for (const reader of this.#readers) {
      reader.note(changed);
      if (reader.hasRoom) reader.update(board, stateJson, electionsAfter);
      else if (reader.isStalled) {
        reader.sink.destroy();
        this.#leave(reader);
      }
    }
    if (this.#readers.size === 0) return;
    const isBusy = board.isStale || this.#readers.values().some(({ isBehind }) => isBehind);
    this.#schedule(isBusy ? PAUSE_MS : TICK_MS);
  }
}

/** A reader of the stream, and the changes that were not sent to it yet. */
class Reader {
  readonly sink: Sink;
  readonly #clock: Clock;
  /** Leases that have changed since their last message. For a slow reader, only their keys are stored. */
  readonly #pending: Set<LeaseKey>;
  #isComplete = false;
  #stateJson = '';
  #lastElection = 0;
  #wroteAt: Instant = 0;
  /** When the reader last had room for a message. */
  #roomAt: Instant;

  constructor(sink: Sink, clock: Clock, keys: Iterable<LeaseKey>) {
    this.sink = sink;
    this.#clock = clock;
    this.#pending = new Set(keys);
    this.#roomAt = clock.now();
  }

  /** Whether the first copy is incomplete, or more Leases are pending than fit into one message. */
  get isBehind(): boolean {
    return !this.#isComplete || this.#pending.size > LEASES_PER_TURN;
  }

  get hasRoom(): boolean {
    const hasRoom = this.sink.writableLength <= MAX_UNSENT_BYTES;
    if (hasRoom) this.#roomAt = this.#clock.now();
    return hasRoom;
  }

  get isStalled(): boolean {
    return this.#clock.now() - this.#roomAt >= MAX_STALL_MS;
  }

  note(keys: readonly LeaseKey[]): void {
    for (const key of keys) this.#pending.add(key);
  }

  send<E extends keyof Messages>(event: E, message: Messages[E]): void {
    this.#write(event, pageJson(message));
  }

  sendBeat(): void {
    this.send('beat', { now: Number(this.#clock.wallTime() / 1000n) });
  }

  update(board: Board, stateJson: string, electionsAfter: BroadcastParts['electionsAfter']): void {
    if (stateJson !== this.#stateJson) this.#write('state', stateJson);
    this.#stateJson = stateJson;
    const elections = electionsAfter(this.#lastElection);
    if (elections.length > 0) this.send('elections', elections);
    this.#lastElection = elections.at(-1)?.id ?? this.#lastElection;
    if (this.#pending.size > 0) this.#sendLeases(board);
    if (!this.#isComplete && board.isLoaded && this.#pending.size === 0) {
      this.#isComplete = true;
      this.send('complete', { leases: board.rows.size });
    }
    if (this.#clock.now() - this.#wroteAt >= BEAT_MS) this.sendBeat();
  }

  #sendLeases({ rows }: Board): void {
    const changed: string[] = [];
    const gone: LeaseKey[] = [];
    for (const key of this.#pending.values().take(LEASES_PER_TURN)) {
      this.#pending.delete(key);
      const row = rows.get(key);
      if (row) changed.push(row.text);
      else gone.push(key);
    }
    this.#write('leases', `{"changed":[${changed.join()}],"gone":${JSON.stringify(gone)}}`);
  }

  /** This JSON has no line breaks, so it fits into one `data` field. */
  #write(event: keyof Messages, json: string): void {
    this.sink.write(`event: ${event}\ndata: ${json}\n\n`);
    this.#wroteAt = this.#clock.now();
  }
}
