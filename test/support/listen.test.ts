import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { listenOn } from '../../src/support/listen.ts';

const HOST = '127.0.0.1';

async function startListening() {
  const server = createServer();
  onTestFinished(() => void server.close());
  return { server, port: await listenOn(server, { host: HOST, port: 0 }) };
}

test('a server listens on a free port, which is told', async () => {
  const { server, port } = await startListening();
  expect(port).toBe((server.address() as AddressInfo).port);
});

test('an address that is in use is refused with what to do', async () => {
  const { port } = await startListening();
  await expect(listenOn(createServer(), { host: HOST, port })).rejects.toThrow(
    `--listen ${HOST}:${port}: address already in use; stop what listens there or choose another port`,
  );
});

test('an error of a server that listens is not lost: unless its owner handles it, it ends the process', async () => {
  const { server } = await startListening();
  const error = new Error('accept EMFILE');
  // As Node emits it. Without a listener that is an uncaught error.
  expect(() => server.emit('error', error)).toThrow(error);
  expect(() => server.emit('error', error)).toThrow(error);
});
