import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** Which way bytes go: from who connected, or back. */
export type Direction = 'requests' | 'answers';

/** How much a fault of a link has struck so far: without that, nobody could tell whether it did anything. */
export interface LinkCounts {
  /** Connections reset, those that were refused included. */
  readonly resets: number;
  /** Pieces of data that were held up, by a stall or by a throttle. */
  readonly delays: number;
}

/**
 * A TCP proxy that can be a bad network. What it holds up it delivers later, as a network does whose packets are sent
 * again: a write may be carried out long after who sent it has given up.
 */
export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  #isResetting = false;
  /** Resolved when the direction is open again; absent while it is. */
  readonly #held = new Map<Direction, PromiseWithResolvers<void>>();
  #bytesPerSecond = Number.POSITIVE_INFINITY;
  #resets = 0;
  #delays = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (near) => this.#accept(near));
  }

  /** Listens on a free port of the loopback interface, and leads to `target`. */
  static async start(target: number): Promise<Link> {
    const server = createServer({ allowHalfOpen: true });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new Link(server, target);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get target(): number {
    return this.#target;
  }

  get counts(): LinkCounts {
    return { resets: this.#resets, delays: this.#delays };
  }

  /** Leads new connections to another port. */
  leadTo(target: number): void {
    this.#target = target;
  }

  /** Resets all connections, once. */
  reset(): void {
    for (const socket of this.#sockets) {
      this.#resets += 1;
      breakOff(socket);
    }
  }

  /** Resets all connections, and those to come, until `mend`. */
  cut(): void {
    this.#isResetting = true;
    this.reset();
  }

  /** Keeps connections, and passes nothing in these directions until `mend`. */
  hold(...directions: readonly Direction[]): void {
    for (const direction of directions) {
      if (!this.#held.has(direction)) this.#held.set(direction, Promise.withResolvers());
    }
  }

  throttle(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Ends all of it; what was held up is delivered. */
  mend(): void {
    this.#isResetting = false;
    this.#bytesPerSecond = Number.POSITIVE_INFINITY;
    for (const { resolve } of this.#held.values()) resolve();
    this.#held.clear();
  }

  /** Breaks all connections off, and listens no more. */
  close(): void {
    this.cut();
    this.mend();
    // Not waited for: Node never tells of the close of a connection whose reset has failed.
    this.#server.close();
  }

  #accept(near: Socket): void {
    if (this.#isResetting) {
      this.#resets += 1;
      breakOff(near.on('error', () => {}));
      return;
    }
    const far = connect({ port: this.#target, host: '127.0.0.1', allowHalfOpen: true });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      // One end that breaks off breaks the other; one that ends in good order is followed by what was held up, and its end.
      socket.on('error', () => breakOff(other));
      socket.once('close', () => this.#sockets.delete(socket));
    }
    near.pipe(this.#gate('requests')).pipe(far);
    far.pipe(this.#gate('answers')).pipe(near);
  }

  #gate(direction: Direction): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        void this.#pass(direction, chunk.length).then(() => done(null, chunk));
      },
      flush: (done) => {
        void this.#pass(direction, 0).then(() => done());
      },
    });
  }

  /** Resolves when so many bytes may pass. */
  async #pass(direction: Direction, bytes: number): Promise<void> {
    for (let held = this.#held.get(direction); held; held = this.#held.get(direction)) {
      this.#delays += 1;
      await held.promise;
    }
    // In steps, so that a mended link does not stay slow for as long as its last piece of data was big.
    for (let rest = bytes; rest > 0 && this.#bytesPerSecond !== Number.POSITIVE_INFINITY; ) {
      this.#delays += 1;
      const step = Math.min(rest, this.#bytesPerSecond / 10);
      rest -= step;
      await sleep((1000 * step) / this.#bytesPerSecond);
    }
  }
}

/** Resets a connection; one that is about to end in good order can only be closed. */
function breakOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
