import { constants, deflateRawSync } from 'node:zlib';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Instant } from '../support/clock.ts';
import { type Messages, pageJson } from './wire.ts';

/** Where the messages for one reader go: an HTTP response, as far as it matters here. */
export interface Sink {
  write(chunk: Buffer): boolean;
  /** Bytes that were written and not sent yet. */
  readonly writableLength: number;
  end(): unknown;
  /** Cuts the connection. */
  destroy(): unknown;
}

/** What turns a message's text into bytes; shared, so that what goes to several is encoded once. */
export type Encode = (encoding: StreamEncoding, text: string) => Buffer;

/** A reader that has so many bytes still to come gets no more for now. */
const MAX_UNSENT_BYTES = 512 * 1024;

/** So many Leases in one message: the next one can be read while this one is shown. */
const LEASES_PER_MESSAGE = 250;

/** One reader of the stream, and what it has yet to be told. */
export class Viewer {
  readonly #sink: Sink;
  readonly #encoding: StreamEncoding;
  /** Leases that changed since it was told of them. That is all that is kept for a slow one: their names. */
  readonly #pending: Set<LeaseKey>;
  #isComplete = false;
  #stateText = '';
  #lastElection = 0;
  #wroteAt: Instant;
  /** Since when it has been too slow to be told anything. */
  #clogged: Instant | undefined;

  constructor(sink: Sink, encoding: StreamEncoding, keys: Iterable<LeaseKey>, now: Instant) {
    this.#sink = sink;
    this.#encoding = encoding;
    this.#pending = new Set(keys);
    this.#wroteAt = now;
    if (encoding.head.length > 0) sink.write(encoding.head);
  }

  /** Whether it has more to be told than fits into one message, or has not been told everything once. */
  get isBehind(): boolean {
    return !this.#isComplete || this.#pending.size > LEASES_PER_MESSAGE;
  }

  note(keys: readonly LeaseKey[]): void {
    for (const key of keys) this.#pending.add(key);
  }

  /** Whether there is room for more; if not, remembers since when. */
  hasRoom(now: Instant): boolean {
    if (this.#sink.writableLength <= MAX_UNSENT_BYTES) this.#clogged = undefined;
    else this.#clogged ??= now;
    return this.#clogged === undefined;
  }

  /** For how long it has been too slow. */
  cloggedMs(now: Instant): number {
    return this.#clogged === undefined ? 0 : now - this.#clogged;
  }

  quietMs(now: Instant): number {
    return now - this.#wroteAt;
  }

  tell<E extends keyof Messages>(event: E, message: Messages[E], encode: Encode, now: Instant): void {
    this.#write(event, pageJson(message), encode, now);
  }

  /** Tells the state, if it is another than it was told last. */
  tellState(text: string, encode: Encode, now: Instant): void {
    if (text === this.#stateText) return;
    this.#stateText = text;
    this.#write('state', text, encode, now);
  }

  tellElections(
    timeline: { readonly lastId: number; after(id: number): Messages['elections'] },
    encode: Encode,
    now: Instant,
  ): void {
    if (timeline.lastId === this.#lastElection) return;
    this.tell('elections', timeline.after(this.#lastElection), encode, now);
    this.#lastElection = timeline.lastId;
  }

  /**
   * Tells of the next Leases that it has yet to be told of.
   *
   * @param textOf the entry in JSON, undefined for a Lease that is gone.
   */
  tellLeases(textOf: (key: LeaseKey) => string | undefined, encode: Encode, now: Instant): void {
    if (this.#pending.size === 0) return;
    const changed: string[] = [];
    const gone: LeaseKey[] = [];
    for (const key of this.#pending) {
      if (changed.length + gone.length === LEASES_PER_MESSAGE) break;
      this.#pending.delete(key);
      const text = textOf(key);
      if (text === undefined) gone.push(key);
      else changed.push(text);
    }
    this.#write('leases', `{"changed":[${changed.join()}],"gone":${JSON.stringify(gone)}}`, encode, now);
  }

  /** Tells once that it knows everything now. */
  tellComplete(leases: number, encode: Encode, now: Instant): void {
    if (this.#isComplete || this.#pending.size > 0) return;
    this.#isComplete = true;
    this.tell('complete', { leases }, encode, now);
  }

  /** Ends the stream; that of a slow one at once, as nobody waits until it has taken everything. */
  end(): void {
    if (this.#sink.writableLength > MAX_UNSENT_BYTES) this.cut();
    else this.#sink.end();
  }

  cut(): void {
    this.#sink.destroy();
  }

  /** JSON has no line breaks of its own, so that one `data` field holds it. */
  #write(event: keyof Messages, json: string, encode: Encode, now: Instant): void {
    this.#sink.write(encode(this.#encoding, `event: ${event}\ndata: ${json}\n\n`));
    this.#wroteAt = now;
  }
}

/** How the messages of a stream are put on the wire. */
export interface StreamEncoding {
  /** The Content-Encoding header; undefined for none. */
  readonly name: 'gzip' | undefined;
  /** Goes before the first message. */
  readonly head: Buffer;
  encode(text: string): Buffer;
}

/** Quick rather than small: names and versions repeat so much that more effort gains little. */
const LEVEL = 3;

/** RFC 1952: the magic number, deflate, no flags, no time, no extra flags, an unknown system. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const plain: StreamEncoding = { name: undefined, head: Buffer.alloc(0), encode: (text) => Buffer.from(text) };

/**
 * Each message is a piece of deflate that refers to nothing before it and ends on a byte, so that the same piece goes to
 * everybody who reads, wherever they began, and costs its compression once.
 */
const gzip: StreamEncoding = {
  name: 'gzip',
  head: GZIP_HEAD,
  encode: (text) => deflateRawSync(text, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH }),
};

/** What a request's Accept-Encoding allows. */
export function streamEncodingFor(acceptEncoding: string | undefined): StreamEncoding {
  return acceptsGzip(acceptEncoding) ? gzip : plain;
}

/** Whether an Accept-Encoding header names gzip, and not to refuse it. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((each) => {
    const [coding = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
