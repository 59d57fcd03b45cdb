import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { isAllowedHost, listenOn } from '../../src/support/address.ts';

test.each([
  ['127.0.0.1:8080', true],
  ['10.2.3.4', true],
  ['[::1]:8080', true],
  ['[fd00::12]', true],
  ['localhost:8080', true],
  ['LOCALHOST', true],
  ['cle', true],
  ['cle:8080', true],
  ['cle.kube-system.svc:8080', true],
  ['cle.kube-system.svc.cluster.local', true],
  ['cle.kube-system.svc.cluster.local.:8080', true],
  ['board.ops.internal', true],
  ['example.com', false],
  ['localhost.example.com:8080', false],
  ['127.0.0.1.example.com', false],
  ['svc.example', false],
  ['cle..svc', false],
  ['[example.com]', false],
  ['user@localhost', false],
  ['', false],
  [undefined, false],
])('a request for host %j is answered: %j', (host, want) => {
  expect(isAllowedHost(host)).toBe(want);
});

const HOST = '127.0.0.1';

async function startListening() {
  const server = createServer();
  onTestFinished(() => void server.close());
  const { port } = await listenOn(server, { host: HOST, port: 0 });
  return { server, port };
}

test('a server listens on a free port, and reports it', async () => {
  const { server, port } = await startListening();
  expect(port).toBe((server.address() as AddressInfo).port);
});

test('an address in use is refused with what to do', async () => {
  const { port } = await startListening();
  await expect(listenOn(createServer(), { host: HOST, port })).rejects.toThrow(
    `cannot listen on ${HOST}:${port}: address already in use; stop the program that listens there or choose another port`,
  );
});

test('an error of a listening server ends the process unless its owner handles it', async () => {
  const { server } = await startListening();
  const error = new Error('accept EMFILE');
  // Node's error event. Without a listener it is an uncaught error.
  expect(() => server.emit('error', error)).toThrow(error);
  expect(() => server.emit('error', error)).toThrow(error);
});
