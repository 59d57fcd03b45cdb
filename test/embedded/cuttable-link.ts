import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A connection to a server that a test can cut. */
export interface CuttableLink {
  readonly url: string;
  /** Resets all present and future connections. */
  cut(): void;
  /** Drops all data without an error, as when a machine loses its power. */
  stall(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Forwards to `port` of this machine, from its own port. */
export async function startCuttableLink(port: number): Promise<CuttableLink> {
  const sockets = new Set<Socket>();
  let isCut = false;
  let isStalled = false;
  const server = createServer((near) => {
    if (isCut) {
      near.resetAndDestroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    if (isStalled) near.resume();
    else near.pipe(far).pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      // The close event that follows reports the error.
      socket.on('error', () => {});
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    isCut = true;
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    stall() {
      isStalled = true;
      for (const socket of sockets) socket.unpipe().resume();
    },
    mend() {
      isCut = false;
    },
    close() {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
