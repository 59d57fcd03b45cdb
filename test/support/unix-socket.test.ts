import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { listenOnSocket } from '../../src/support/unix-socket.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'unix-socket-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function makeServer(): Server {
  const server = createServer();
  onTestFinished(() => void server.close());
  return server;
}

describe('a server on a Unix socket', () => {
  test('is for its owner and its group, and removes the socket when it is closed', async () => {
    const path = join(folder, 'socket');
    const server = makeServer();
    await listenOnSocket(server, path);
    expect(statSync(path).mode & 0o777).toBe(0o660);
    server.close();
    await once(server, 'close');
    expect(existsSync(path)).toBe(false);
  });

  test('replaces the socket of a process that has crashed', async () => {
    const path = join(folder, 'socket');
    const script = `require('net').createServer().listen(${JSON.stringify(path)}, () => console.log('listens'))`;
    const crashing = spawn(process.execPath, ['--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (crashing.stdout) await once(crashing.stdout, 'data');
    crashing.kill('SIGKILL');
    await once(crashing, 'exit');
    expect(existsSync(path)).toBe(true);
    const server = makeServer();
    await listenOnSocket(server, path);
    expect(server.listening).toBe(true);
  });

  test('leaves the socket of a running process', async () => {
    const path = join(folder, 'socket');
    await listenOnSocket(makeServer(), path);
    await expect(listenOnSocket(makeServer(), path)).rejects.toThrow(
      `--socket ${path}: another process listens there; stop it or choose another path`,
    );
  });

  test('leaves a file that is not a socket', async () => {
    const path = join(folder, 'file');
    writeFileSync(path, 'text');
    for (const taken of [path, folder])
      await expect(listenOnSocket(makeServer(), taken)).rejects.toThrow('this is not a socket');
    expect(statSync(path).isFile()).toBe(true);
  });

  test('reports a path without a directory', async () => {
    const path = join(folder, 'none', 'socket');
    await expect(listenOnSocket(makeServer(), path)).rejects.toThrow(`--socket ${path} cannot be used`);
  });
});
