import { once } from 'node:events';
import { chmodSync, lstatSync, unlinkSync } from 'node:fs';
import { connect, type Server } from 'node:net';

/** The owner and the group may read and write: containers of a pod often run as different users of one group. */
const MODE = 0o660;

/** The maximum length of a Unix socket's path on Linux, in bytes. */
export const MAX_SOCKET_PATH_BYTES = 107;

/** Starts `server` on a Unix socket. Replaces the socket of a crashed process. `server.close()` removes the socket. */
export async function listenOnSocket(server: Server, path: string): Promise<void> {
  await removeStaleSocket(path);
  server.listen(path);
  await once(server, 'listening').catch((cause: unknown) => {
    throw new Error(`--socket ${path} cannot be used`, { cause });
  });
  chmodSync(path, MODE);
}

async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return;
  if (!found.isSocket())
    throw new Error(`--socket ${path}: this is not a socket; remove it or choose another path`);
  if (await accepts(path))
    throw new Error(`--socket ${path}: another process listens there; stop it or choose another path`);
  unlinkSync(path);
}

async function accepts(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch (error) {
    // ECONNREFUSED shows that no process listens. After any other error, such as a full backlog, assume that a process
    // listens.
    return !(error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED');
  } finally {
    socket.destroy();
  }
}
