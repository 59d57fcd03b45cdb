import type { Clock, Instant } from '../../support/clock.ts';
import type { ApiError } from '../errors/api-error.ts';
import type { ApiObject } from '../schema/api-object.ts';
import { type History, revisionTooLarge, revisionTooOld } from '../storage/history.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { eachObject, type StoredObject } from '../storage/stored-objects.ts';
import { type EventEncoder, encodeError, watchEventType } from './event-encoder.ts';
import { type Watcher, type WatchRounds, watchRounds } from './watch-rounds.ts';

/** Where a watch begins. */
export type WatchStart =
  /** With the events after a revision, which may lie in the future. */
  | { readonly kind: 'revision'; readonly revision: number }
  | {
      /**
       * With the objects that are there, as ADDED events, followed by a bookmark that marks their end where `sendBookmark`
       * says so; then the events.
       */
      readonly kind: 'state';
      readonly sendBookmark: boolean;
      /** The revision that the state must have come to; without it, any will do. */
      readonly minimum?: number;
    };

/** What a watch is about, and whom it is for. */
export interface WatchOptions {
  readonly store: ObjectStore;
  readonly storage: string;
  readonly clock: Clock;
  readonly sink: StreamSink;
  readonly from: WatchStart;
  /** Namespace, name, labels and fields, all in one. Takes the hub form. */
  readonly selects: (object: ApiObject) => boolean;
  readonly encode: EventEncoder;
  /** For the first line, where that is another: a table tells its columns only there. */
  readonly encodeFirst?: EventEncoder;
  /** Whether the client wants to be told now and then how far it has come. */
  readonly bookmarks: boolean;
  readonly timeoutMs: number;
}

/** What is sent in one go, in bytes: enough that many small events are one write, little enough to be no burden. */
const BATCH_BYTES = 64 * 1024;
/** How many objects and events are looked at for that, as a selector may select none of them. */
const BATCH_LOOKS = 1000;
const BOOKMARK_INTERVAL_MS = 60_000;
/** Watches that began together need not be told together. */
const BOOKMARK_JITTER_MS = 1250;
/** A watch that is about to time out is told where to go on. */
const BOOKMARK_BEFORE_TIMEOUT_MS = 2000;

/**
 * Serves a watch until either side ends it, it times out, or its client is so slow that the history has forgotten what it
 * was not sent yet. A start that cannot be had is answered with an ERROR event, and the end.
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

/** A position in the history, and a client that is as far as that. */
class WatchStream implements Watcher {
  readonly #options: WatchOptions;
  readonly #history: History;
  readonly #rounds: WatchRounds;
  readonly #since: number;
  readonly #endsAt: Instant;
  /** What is still to be sent of the state at the revision `since`. */
  #initial: Iterator<StoredObject, void> | undefined;
  #position: number;
  #hasWritten = false;
  #isBlocked = false;
  #isTimedOut = false;
  #isEnded = false;
  #cancelTimeout = () => {};
  #cancelBookmark = () => {};

  /** The client knows of everything up to the revision `since`, or gets it as initial state. */
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

  /** Undefined: the next object is not for this client. */
  #nextInitialLine(initial: Iterator<StoredObject, void>): Buffer | undefined {
    const { from, selects } = this.#options;
    const { value: stored } = initial.next();
    if (stored !== undefined) return selects(stored.object) ? this.#encoder().initial(stored) : undefined;
    this.#initial = undefined;
    const isMarked = from.kind === 'state' && from.sendBookmark;
    return isMarked ? this.#encoder().bookmark(this.#since, true) : undefined;
  }

  /** Undefined: the next event is not for this client. */
  #nextEventLine(): Buffer | undefined {
    const event = this.#history.at(this.#position);
    if (event === undefined || event === 'expired') return undefined;
    this.#position++;
    // A client that asked for what comes after a revision in the future waits for that.
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

  /** A client that is behind gets none: it would claim that nothing is missing. */
  #sendBookmark(): void {
    const { revision } = this.#options.store;
    this.#rounds.advance(this);
    const isUpToDate = !this.#isBlocked && !this.#initial && this.#position === this.#history.end;
    if (isUpToDate && revision > this.#since) this.#write([this.#encoder().bookmark(revision, false)]);
    if (!this.#isEnded) this.#setBookmark();
  }

  /** A client that is slow gets what it was sent before the end; what it was not sent, it can watch for again. */
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

/** Where a stream is written to. It never holds more than a socket's buffer and what `write` was just given. */
export interface StreamSink {
  /** False when the client is slow: then write again only after `onDrain`'s callback was called. */
  write(chunk: Buffer): boolean;
  /** Ends the answer in good order. */
  end(): void;
  /** Cuts the connection. */
  destroy(): void;
  /** Calls back each time that there is room again. */
  onDrain(callback: () => void): void;
  /** Calls back once, when the client or the server has ended the stream, for whatever reason. */
  onClose(callback: () => void): void;
}
