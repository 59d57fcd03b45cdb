import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { generateCertificate } from '../../../src/apiserver/access/certificates.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { LEASES, makeFront } from './make-front.ts';

/** Sends one large request after the other on one connection, and returns their results. */
const client = `
const { workerData: { port, path, requests, bytes }, parentPort } = require('node:worker_threads');
const { Agent, request } = require('node:https');
const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false });
const headers = { authorization: 'Bearer admin', 'content-type': 'application/merge-patch+json', 'content-length': bytes };
const send = () => new Promise((resolve) => {
  const outgoing = request({ port, method: 'PATCH', path, agent, headers });
  outgoing.once('error', (error) => resolve(error.code));
  outgoing.once('response', (incoming) => incoming.resume().once('end', () => resolve(incoming.statusCode)));
  outgoing.end(Buffer.alloc(bytes, 'x'));
});
(async () => {
  const outcomes = [];
  for (let sent = 0; sent < requests; sent++) outcomes.push(await send());
  parentPort.postMessage(outcomes);
  agent.destroy();
})();
`;

// The client gets a complete answer a moment before the server knows that it was sent. In another thread, it is fast
// enough to send the next request within that moment.
test('large requests that follow large answers on a connection are all answered', async () => {
  const { cert, key } = await generateCertificate(['127.0.0.1'], systemClock);
  const { port } = await makeFront({
    tls: { cert, key },
    handle: async () => {
      await sleep(2);
      return { kind: 'object', code: 200, body: { text: 'x'.repeat(250_000) } };
    },
  });
  const workerData = { port, path: `${LEASES}/a`, requests: 200, bytes: 32_000 };
  const worker = new Worker(client, { eval: true, workerData });
  const [outcomes] = (await once(worker, 'message')) as [unknown[]];
  expect(outcomes.filter((outcome) => outcome !== 200)).toEqual([]);
  await worker.terminate();
});
