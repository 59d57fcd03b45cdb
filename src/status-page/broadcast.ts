import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { type Board, createBoard, type LeaseSource } from './board.ts';
import { type HelloMessage, type Messages, pageJson, type StateMessage, wallMs } from './wire.ts';

interface BroadcastParts {
  readonly clock: Clock;
  readonly source: LeaseSource;
  readonly electionsAfter: (id: number) => Messages['elections'];
  readonly hello: HelloMessage;
  readonly state: () => StateMessage;
  /** Called for an internal error. Before the call, the broadcast ends all streams. The pages then reconnect. */
  readonly onError: (error: unknown) => void;
}

/** The part of a writable stream that the broadcast uses to send messages to a page. */
export interface Sink {
  write(text: string): unknown;
  readonly writableLength: number;
  end(): unknown;
  destroy(): unknown;
}

/** Maximum number of open streams. Further pages are refused, and retry later. */
export const MAX_READERS = 16;
const TICK_MS = 250;
/** Pause between two calls of `turn` while more work waits, in milliseconds. Elections can run in the pause. */
const PAUSE_MS = 5;
/** Maximum number of Leases that one call of `turn` updates, or sends to one reader. Elections wait during the call. */
const LEASES_PER_TURN = 200;
const BEAT_MS = 10_000;
/** While a reader has more unsent bytes than this, the broadcast sends no messages to this reader. */
const MAX_UNSENT_BYTES = 512 * 1024;
/** Time in milliseconds after which a reader with too many unsent bytes is disconnected. */
const MAX_STALL_MS = 30_000;

export type Broadcast = ReturnType<typeof createBroadcast>;

/**
 * Sends the Leases, the elections and the state of the replica to all readers (the open pages): first everything, then
 * the changes. A message about a Lease contains its current state, so a slow reader misses only intermediate states of
 * the Lease. Without readers, the broadcast does no work.
 */
export function createBroadcast(parts: BroadcastParts) {
  const { clock, source, state, onError } = parts;
  const readers = new Set<Reader>();
  let board: Board | undefined;
  let cancelTurn = () => {};

  function leave(reader: Reader): void {
    readers.delete(reader);
    if (readers.size > 0) return;
    cancelTurn();
    board = undefined;
  }

  function end(reader: Reader): void {
    reader.end();
    leave(reader);
  }

  function turn(current: Board): void {
    const changed = current.refresh(LEASES_PER_TURN);
    const stateJson = pageJson(state());
    for (const reader of readers) {
      if (!reader.update(current, changed, stateJson)) end(reader);
    }
    if (readers.size === 0) return;
    const isBusy = current.isStale || readers.values().some((reader) => reader.isBehind());
    schedule(isBusy ? PAUSE_MS : TICK_MS);
  }

  function schedule(delayMs: number): void {
    cancelTurn();
    cancelTurn = clock.setTimer(() => {
      try {
        if (board) turn(board);
      } catch (error) {
        readers.forEach(end);
        onError(error);
      }
    }, delayMs);
  }

  return {
    /** Call this when the entry of a Lease may be outdated. `isRenewalOnly`: the holder has only renewed the Lease. */
    touch(key: LeaseKey, isRenewalOnly = false): void {
      board?.touch(key, isRenewalOnly);
    },
    /**
     * Starts to send messages to `sink`. Returns a function that stops the messages, but does not end `sink`. Returns
     * undefined if there are too many readers.
     */
    join(sink: Sink): (() => void) | undefined {
      if (readers.size >= MAX_READERS) return undefined;
      board ??= createBoard(clock, source);
      const reader = startReader(sink, parts, board.rows.keys());
      readers.add(reader);
      schedule(0);
      return () => leave(reader);
    },
    close: () => readers.forEach(end),
  };
}

type Reader = ReturnType<typeof startReader>;

/** Starts a stream to a reader. Keeps track of the changes that were not yet sent to this reader. */
function startReader(sink: Sink, { clock, hello, electionsAfter }: BroadcastParts, keys: Iterable<LeaseKey>) {
  /** Leases that must still be sent to this reader. Only keys, so that a slow reader needs little memory. */
  const pending = new Set(keys);
  let isComplete = false;
  let sentState = '';
  let lastElection = 0;
  let wroteAt: Instant = 0;
  /** When this reader last had room for a message. The broadcast disconnects a reader that has no room for too long. */
  let roomAt = clock.now();

  const hasRoom = () => sink.writableLength <= MAX_UNSENT_BYTES;

  /** Writes one server-sent event. `json` must not contain line breaks, because it has to fit into one `data` field. */
  function write(event: keyof Messages, json: string): void {
    sink.write(`event: ${event}\ndata: ${json}\n\n`);
    wroteAt = clock.now();
  }

  function send<E extends keyof Messages>(event: E, message: Messages[E]): void {
    write(event, pageJson(message));
  }

  function sendBeat(): void {
    send('beat', { now: wallMs(clock) });
  }

  function sendLeases({ rows }: Board): void {
    const changed: string[] = [];
    const gone: LeaseKey[] = [];
    for (const key of pending.values().take(LEASES_PER_TURN)) {
      pending.delete(key);
      const row = rows.get(key);
      if (row) changed.push(row.text);
      else gone.push(key);
    }
    write('leases', `{"changed":[${changed.join()}],"gone":${JSON.stringify(gone)}}`);
  }

  send('hello', hello);
  sendBeat();
  return {
    /** True until the reader has got the complete board, and while more Leases are pending than fit into a message. */
    isBehind: () => !isComplete || pending.size > LEASES_PER_TURN,
    /**
     * Sends the changes, unless the reader has too many unsent bytes. Returns false if the reader has had too many
     * unsent bytes for too long: the caller then ends the stream.
     */
    update(board: Board, changed: readonly LeaseKey[], state: string): boolean {
      for (const key of changed) pending.add(key);
      if (!hasRoom()) return clock.now() - roomAt < MAX_STALL_MS;
      roomAt = clock.now();
      if (state !== sentState) write('state', state);
      sentState = state;
      const elections = electionsAfter(lastElection);
      if (elections.length > 0) send('elections', elections);
      lastElection = elections.at(-1)?.id ?? lastElection;
      if (pending.size > 0) sendLeases(board);
      if (!isComplete && board.isLoaded && pending.size === 0) {
        isComplete = true;
        send('complete', { leases: board.rows.size });
      }
      if (clock.now() - wroteAt >= BEAT_MS) sendBeat();
      return true;
    },
    /** Ends the stream. Closes the connection of a slow reader at once: its unsent bytes would delay the end. */
    end: () => (hasRoom() ? sink.end() : sink.destroy()),
  };
}
