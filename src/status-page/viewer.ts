import { constants, deflateRawSync } from 'node:zlib';
import type { LeaseKey } from '../coordination/lease-key.ts';
import type { Instant } from '../support/clock.ts';
import { type Messages, pageJson } from './wire.ts';

/** The part of an HTTP response that a stream uses. */
export interface Sink {
  write(chunk: Buffer): boolean;
  /** Bytes in the buffer. */
  readonly writableLength: number;
  end(): unknown;
  /** Cuts the connection. */
  destroy(): unknown;
}

/** Encodes a message. All readers share one result, so that each message is encoded once. */
export type Encode = (encoding: StreamEncoding, text: string) => Buffer;

/** A reader with more buffered bytes gets no messages for now. */
const MAX_UNSENT_BYTES = 512 * 1024;

/** Leases per message: the page shows one while the next one arrives. */
const LEASES_PER_MESSAGE = 250;

/** A reader of the stream, and the changes that it has not received yet. */
export class Viewer {
  readonly #sink: Sink;
  readonly #encoding: StreamEncoding;
  /** Leases that have changed since their last message. A slow reader needs memory only for their keys. */
  readonly #pending: Set<LeaseKey>;
  #isComplete = false;
  #stateText = '';
  #lastElection = 0;
  #wroteAt: Instant;
  /** Since when the reader has been too slow. */
  #clogged: Instant | undefined;

  constructor(sink: Sink, encoding: StreamEncoding, keys: Iterable<LeaseKey>, now: Instant) {
    this.#sink = sink;
    this.#encoding = encoding;
    this.#pending = new Set(keys);
    this.#wroteAt = now;
    if (encoding.head.length > 0) sink.write(encoding.head);
  }

  /** Whether more than one message is pending, or the first copy is not complete. */
  get isBehind(): boolean {
    return !this.#isComplete || this.#pending.size > LEASES_PER_MESSAGE;
  }

  note(keys: readonly LeaseKey[]): void {
    for (const key of keys) this.#pending.add(key);
  }

  /** Returns whether the buffer has room. If not, remembers since when. */
  hasRoom(now: Instant): boolean {
    if (this.#sink.writableLength <= MAX_UNSENT_BYTES) this.#clogged = undefined;
    else this.#clogged ??= now;
    return this.#clogged === undefined;
  }

  /** Returns how long the reader has been too slow, in milliseconds. */
  cloggedMs(now: Instant): number {
    return this.#clogged === undefined ? 0 : now - this.#clogged;
  }

  quietMs(now: Instant): number {
    return now - this.#wroteAt;
  }

  tell<E extends keyof Messages>(event: E, message: Messages[E], encode: Encode, now: Instant): void {
    this.#write(event, pageJson(message), encode, now);
  }

  /** Sends the state, if it has changed. */
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
   * Sends the next pending Leases.
   *
   * @param textOf returns the entry as JSON, undefined for a Lease that is gone.
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

  /** Sends, once, that the first copy is complete. */
  tellComplete(leases: number, encode: Encode, now: Instant): void {
    if (this.#isComplete || this.#pending.size > 0) return;
    this.#isComplete = true;
    this.tell('complete', { leases }, encode, now);
  }

  /** Ends the stream. The connection of a slow reader is cut. */
  end(): void {
    if (this.#sink.writableLength > MAX_UNSENT_BYTES) this.cut();
    else this.#sink.end();
  }

  cut(): void {
    this.#sink.destroy();
  }

  /** JSON has no line breaks here, so one `data` field holds it. */
  #write(event: keyof Messages, json: string, encode: Encode, now: Instant): void {
    this.#sink.write(encode(this.#encoding, `event: ${event}\ndata: ${json}\n\n`));
    this.#wroteAt = now;
  }
}

export interface StreamEncoding {
  /** The Content-Encoding header; undefined for none. */
  readonly name: 'gzip' | undefined;
  /** The bytes before the first message. */
  readonly head: Buffer;
  encode(text: string): Buffer;
}

/** The compression level. A low one, for speed: the content is so repetitive that a higher level gains little. */
const LEVEL = 3;

/** RFC 1952: the magic number, deflate, no flags, no time, no extra flags, an unknown system. */
const GZIP_HEAD = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]);
const plain: StreamEncoding = { name: undefined, head: Buffer.alloc(0), encode: (text) => Buffer.from(text) };

/**
 * Each message is a separate deflate block that ends at a byte boundary. The same bytes can be sent to all readers,
 * whenever they joined, and are compressed once.
 */
const gzip: StreamEncoding = {
  name: 'gzip',
  head: GZIP_HEAD,
  encode: (text) => deflateRawSync(text, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH }),
};

/** Returns the encoding for an Accept-Encoding header. */
export function streamEncodingFor(acceptEncoding: string | undefined): StreamEncoding {
  return acceptsGzip(acceptEncoding) ? gzip : plain;
}

/** Whether an Accept-Encoding header accepts gzip. */
export function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some((each) => {
    const [coding = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    return coding === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
