import type { Clock, Instant } from '../../support/clock.ts';
import type { ApiError } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type History, revisionTooLarge, revisionTooOld } from '../storage/history.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { eachObject, type StoredObject } from '../storage/stored-objects.ts';
import { type EventEncoder, encodeError, watchEventType } from './event-encoder.ts';
import { type Watcher, type WatchRounds, watchRounds } from './watch-rounds.ts';

export type WatchStart =
  /** Starts with the events after a revision, which may be in the future. */
  | { readonly kind: 'revision'; readonly revision: number }
  | {
      /** Starts with the present objects as ADDED events, then a bookmark if `sendBookmark` is set, then the events. */
      readonly kind: 'state';
      readonly sendBookmark: boolean;
      /** The lowest allowed revision of the state. */
      readonly minimum?: number;
    };

export interface WatchOptions {
  readonly store: ObjectStore;
  readonly storage: string;
  readonly clock: Clock;
  readonly sink: StreamSink;
  readonly from: WatchStart;
  /** Takes the hub form. */
  readonly selects: (object: ApiObject) => boolean;
  readonly encode: EventEncoder;
  /** The encoder of the first line, if it differs: only the first line of a table has the columns. */
  readonly encodeFirst?: EventEncoder;
  /** Whether the client wants bookmarks. */
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
}

/** The size of one write, which can contain many small events. */
const BATCH_BYTES = 64 * 1024;
/** Maximum number of objects and events examined for one write: a selector may match none of them. */
const BATCH_LOOKS = 1000;
const BOOKMARK_INTERVAL_MS = 60_000;
/** Prevents watches that started together from sending their bookmarks together. */
const BOOKMARK_JITTER_MS = 1250;
/** Time between the last bookmark and the timeout. */
const BOOKMARK_BEFORE_TIMEOUT_MS = 2000;

/**
 * Serves a watch. The watch ends when the client or the server ends it, and at its timeout. It also ends if a client is
 * so slow that the history no longer has its next event. Sends an ERROR event if the start is not available.
 */
export function startWatch(options: WatchOptions): void {
  const { store, storage, from, sink } = options;
  const history = store.history(storage);
  if (from.kind === 'state') {
    if ((from.minimum ?? 0) > store.revision)
      refuse(sink, revisionTooLarge(from.minimum ?? 0, store.revision));
    else new WatchStream(options, history.end, store.revision).start();
    return;
  }
  const position = history.positionAfter(from.revision);
  if (position === 'expired') refuse(sink, revisionTooOld(from.revision, history.since));
  else new WatchStream(options, position, from.revision).start();
}

function refuse(sink: StreamSink, { status }: ApiError): void {
  sink.write(encodeError(status));
  sink.end();
}

/** A client, and its position in the history. */
class WatchStream implements Watcher {
  readonly #options: WatchOptions;
  readonly #history: History;
  readonly #rounds: WatchRounds;
  readonly #since: number;
  readonly #endsAt: Instant;
  /** The unsent objects of the initial state. */
  #initial: Iterator<StoredObject, void> | undefined;
  #position: number;
  #hasWritten = false;
  #isBlocked = false;
  #isTimedOut = false;
  #isEnded = false;
  #cancelTimeout = () => {};
  #cancelBookmark = () => {};

  /** The client knows everything up to the revision `since`, or receives it as the initial state. */
  constructor(options: WatchOptions, position: number, since: number) {
    const { store, storage, clock, from, timeoutMs } = options;
    this.#options = options;
    this.#history = store.history(storage);
    this.#rounds = watchRounds(store, storage, clock);
    this.#position = position;
    this.#since = since;
    this.#endsAt = clock.now() + timeoutMs;
    this.#initial = from.kind === 'state' ? eachObject(store.snapshot(storage)) : undefined;
  }

  start(): void {
    const { sink, clock, timeoutMs } = this.#options;
    this.#rounds.add(this);
    sink.onClose(() => this.#stop());
    sink.onDrain(() => {
      this.#isBlocked = false;
      this.#rounds.wake(this);
    });
    this.#cancelTimeout = clock.setTimer(() => this.#timeOut(), timeoutMs);
    if (this.#options.bookmarks) this.#setBookmark();
    this.#rounds.advance(this);
  }

  advance(): boolean {
    if (this.#isEnded) return false;
    if (this.#history.at(this.#position) === 'expired') {
      this.#stop();
      this.#options.sink.destroy();
      return false;
    }
    if (this.#isBlocked) return false;
    if (this.#isTimedOut) {
      this.#end();
      return false;
    }
    const lines: Buffer[] = [];
    let bytes = 0;
    let looks = 0;
    while (bytes < BATCH_BYTES && looks < BATCH_LOOKS && this.#hasMore()) {
      looks += 1;
      const line = this.#initial ? this.#nextInitialLine(this.#initial) : this.#nextEventLine();
      if (line === undefined) continue;
      lines.push(line);
      bytes += line.length;
    }
    this.#write(lines);
    return this.#hasMore() && !this.#isBlocked;
  }

  #hasMore(): boolean {
    return this.#initial !== undefined || this.#position < this.#history.end;
  }

  /** Returns the line for the next object; undefined if the client gets no line for this object. */
  #nextInitialLine(initial: Iterator<StoredObject, void>): Buffer | undefined {
    const { from, selects } = this.#options;
    const { value: stored } = initial.next();
    if (stored !== undefined) return selects(stored.object) ? this.#encoder().initial(stored) : undefined;
    this.#initial = undefined;
    const isMarked = from.kind === 'state' && from.sendBookmark;
    return isMarked ? this.#encoder().bookmark(this.#since, true) : undefined;
  }

  /** Returns the line for the next event; undefined if the client gets no line for this event. */
  #nextEventLine(): Buffer | undefined {
    const event = this.#history.at(this.#position);
    if (event === undefined || event === 'expired') return undefined;
    this.#position++;
    // If the client starts at a revision in the future, it gets only events after that revision.
    if (event.stored.revision <= this.#since) return undefined;
    const type = watchEventType(event, this.#options.selects);
    return type === undefined ? undefined : this.#encoder().event(event, type);
  }

  #encoder(): EventEncoder {
    const { encode, encodeFirst } = this.#options;
    const encoder = this.#hasWritten ? encode : (encodeFirst ?? encode);
    this.#hasWritten = true;
    return encoder;
  }

  #write([first, ...others]: readonly Buffer[]): void {
    if (first === undefined) return;
    this.#isBlocked = !this.#options.sink.write(this.#rounds.batches.join([first, ...others]));
  }

  #setBookmark(): void {
    const { clock } = this.#options;
    const delay = Math.min(
      BOOKMARK_INTERVAL_MS + clock.random() * BOOKMARK_JITTER_MS,
      this.#endsAt - clock.now() - BOOKMARK_BEFORE_TIMEOUT_MS,
    );
    if (delay > 0) this.#cancelBookmark = clock.setTimer(() => this.#sendBookmark(), delay);
  }

  /** Sends a bookmark, unless the client is behind. */
  #sendBookmark(): void {
    const { revision } = this.#options.store;
    this.#rounds.advance(this);
    const isUpToDate = !this.#isBlocked && !this.#initial && this.#position === this.#history.end;
    if (isUpToDate && revision > this.#since) this.#write([this.#encoder().bookmark(revision, false)]);
    if (!this.#isEnded) this.#setBookmark();
  }

  /** Ends the watch. A slow client first gets the lines that were already written. */
  #timeOut(): void {
    this.#isTimedOut = true;
    if (!this.#isBlocked) this.#end();
  }

  #end(): void {
    this.#stop();
    this.#options.sink.end();
  }

  #stop(): void {
    this.#isEnded = true;
    this.#rounds.remove(this);
    this.#cancelTimeout();
    this.#cancelBookmark();
  }
}

/** The output of a stream. It buffers at most one write in addition to the socket's buffer. */
export interface StreamSink {
  /** Returns false if the client is slow. The next write must then wait for the callback of `onDrain`. */
  write(chunk: Buffer): boolean;
  /** Ends the answer. */
  end(): void;
  /** Closes the connection. */
  destroy(): void;
  /** Calls `callback` each time the client can receive more data. */
  onDrain(callback: () => void): void;
  /** Calls `callback` once, after the end of the stream. */
  onClose(callback: () => void): void;
}
