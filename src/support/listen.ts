import type { AddressInfo, Server } from 'node:net';
import { hostAndPort, type ListenAddress } from './address.ts';

/** What went wrong with `--listen`, and what to do about it. */
export function listenError(error: Error, { host, port }: ListenAddress): Error {
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'address already in use; stop what listens there or choose another port',
    EACCES: 'not permitted; choose a port from 1024 up',
    EADDRNOTAVAIL: 'this machine has no such address; 0.0.0.0 stands for all it has',
    ENOTFOUND: 'no such host; 0.0.0.0 stands for every address of this machine',
  };
  const code = 'code' in error ? String(error.code) : '';
  const where = hostAndPort(host, port);
  const reason = reasons[code];
  // What is told in our own words need not be told again in those of the system.
  return reason === undefined
    ? new Error(`--listen ${where}`, { cause: error })
    : new Error(`--listen ${where}: ${reason}`);
}

/**
 * Has `server` accept connections; resolves to the port, which was taken if any free one was asked for. Errors after that are
 * those of the server's owner: one that handles none has them end the process.
 *
 * @throws {Error} that names the address and what to do, when it cannot listen there.
 */
export async function listenOn(server: Server, { host, port }: ListenAddress): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(listenError(error, { host, port }));
    server.once('error', fail);
    server.listen(port, host, () => {
      server.off('error', fail);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}
