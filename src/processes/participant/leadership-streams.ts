import type { ServerResponse } from 'node:http';
import type { Clock } from '../../support/clock.ts';
import type { Leadership } from './leadership.ts';

/** So many may watch at once; whoever comes later is told to wait. */
export const MOST_STREAMS = 64;
/** In milliseconds: what a reader was told must not run out as long as it is so. */
const BEAT_MS = 2000;
/** In bytes: a reader that takes nothing for longer is gone. */
const MOST_UNREAD = 65_536;

/** Tells everybody who watches of each change, and between changes that it is still so: server-sent events. */
export class LeadershipStreams {
  readonly #clock: Clock;
  readonly #leadership: Leadership;
  readonly #readers = new Set<ServerResponse>();
  #cancelBeat: (() => void) | undefined;
  #forget: (() => void) | undefined;

  constructor({ clock, leadership }: { clock: Clock; leadership: Leadership }) {
    this.#clock = clock;
    this.#leadership = leadership;
  }

  /** Tells `response` how it is, and all that comes, until it is closed. */
  join(response: ServerResponse): void {
    if (this.#readers.size >= MOST_STREAMS) {
      response
        .writeHead(503, { 'Content-Type': 'text/plain', 'Retry-After': '10' })
        .end('too many watch already\n');
      return;
    }
    response.writeHead(200, {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    });
    this.#readers.add(response);
    response.on('close', () => this.#leave(response));
    response.on('error', () => this.#leave(response));
    this.#write(response, 'change');
    this.#forget ??= this.#leadership.onChange(() => this.#tell('change'));
    this.#cancelBeat ??= this.#clock.setTimer(() => this.#beat(), BEAT_MS);
  }

  /** Ends all of them. */
  close(): void {
    for (const reader of this.#readers) reader.end();
    this.#rest();
  }

  #beat(): void {
    this.#cancelBeat = this.#clock.setTimer(() => this.#beat(), BEAT_MS);
    this.#tell('heartbeat');
  }

  #tell(event: 'change' | 'heartbeat'): void {
    for (const reader of this.#readers) {
      if (reader.writableLength > MOST_UNREAD) reader.destroy();
      else this.#write(reader, event);
    }
  }

  #write(reader: ServerResponse, event: 'change' | 'heartbeat'): void {
    reader.write(`event: ${event}\ndata: ${JSON.stringify(this.#leadership.account())}\n\n`);
  }

  #leave(reader: ServerResponse): void {
    this.#readers.delete(reader);
    if (this.#readers.size === 0) this.#rest();
  }

  #rest(): void {
    this.#cancelBeat?.();
    this.#forget?.();
    this.#cancelBeat = undefined;
    this.#forget = undefined;
  }
}
