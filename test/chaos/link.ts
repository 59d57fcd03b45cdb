import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

/** The direction of bytes: from the client, or back. */
export type Direction = 'requests' | 'answers';

/** Counts of a link's fault so far, which show whether it had any effect. */
export interface LinkCounts {
  /** Reset connections, including refused ones. */
  readonly resets: number;
  /** Chunks of data that a stall or a throttle has delayed. */
  readonly delays: number;
}

/**
 * A TCP proxy that can be a bad network. It delivers delayed data later, like a network that retransmits packets: a
 * write may be executed long after its sender gave up.
 */
export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: number;
  #isResetting = false;
  /** Resolved when the direction is open again; absent while it is open. */
  readonly #held = new Map<Direction, PromiseWithResolvers<void>>();
  #bytesPerSecond = Number.POSITIVE_INFINITY;
  #resets = 0;
  #delays = 0;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    server.on('connection', (near) => this.#accept(near));
  }

  /** Listens on a free port of the loopback interface, and forwards to `target`. */
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

  /** Forwards new connections to another port. */
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

  /** Resets all present and future connections, until `mend`. */
  cut(): void {
    this.#isResetting = true;
    this.reset();
  }

  /** Keeps connections, and passes no data in these directions until `mend`. */
  hold(...directions: readonly Direction[]): void {
    for (const direction of directions) {
      if (!this.#held.has(direction)) this.#held.set(direction, Promise.withResolvers());
    }
  }

  throttle(bytesPerSecond: number): void {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** Ends all faults. Delayed data is delivered. */
  mend(): void {
    this.#isResetting = false;
    this.#bytesPerSecond = Number.POSITIVE_INFINITY;
    for (const { resolve } of this.#held.values()) resolve();
    this.#held.clear();
  }

  /** Resets all connections, and stops listening. */
  close(): void {
    this.cut();
    this.mend();
    // Not awaited: Node never reports the close of a connection whose reset has failed.
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
      // If one end is reset, so is the other. If one end closes cleanly, the delayed data and the close are
      // delivered.
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

  /** Resolves when this many bytes may pass. */
  async #pass(direction: Direction, bytes: number): Promise<void> {
    for (let held = this.#held.get(direction); held; held = this.#held.get(direction)) {
      this.#delays += 1;
      await held.promise;
    }
    // In steps, so that a mended link does not stay slow for a whole large chunk.
    for (let rest = bytes; rest > 0 && this.#bytesPerSecond !== Number.POSITIVE_INFINITY; ) {
      this.#delays += 1;
      const step = Math.min(rest, this.#bytesPerSecond / 10);
      rest -= step;
      await sleep((1000 * step) / this.#bytesPerSecond);
    }
  }
}

/** Resets a connection. A connection that is about to close cleanly can only be closed. */
function breakOff(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
