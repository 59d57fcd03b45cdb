// The API server of bench/events.ts, which starts this process and sends it commands: settled Leases and their
// candidates, with renewals on request. Writes have no effect: the bench measures readers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { obey } from '../test/e2e/figures/commanded-process.ts';
import { type Command, candidateObject, leaseObject, type Scale } from './events-objects.ts';

const API = '/apis/coordination.k8s.io';
/** Events that are due at the same time are sent one by one, as kube-apiserver does. */
const BEAT_MS = 2;

interface Site extends Scale {
  readonly cert: string;
  readonly key: string;
}

const site = JSON.parse(process.argv[2] ?? '') as Site;
const watches = { leases: new Set<ServerResponse>(), leasecandidates: new Set<ServerResponse>() };
let revision = 1_000_000;
let lock: object | undefined;

const all = {
  leases: Array.from({ length: site.leases }, (_, index) => leaseObject(index)),
  leasecandidates: Array.from({ length: site.leases * site.candidates }, (_, index) =>
    candidateObject(index, site.candidates),
  ),
};

const server = createServer({ cert: site.cert, key: site.key }, (request, response) => {
  answer(request, response).catch((error: unknown) => {
    process.stderr.write(`${request.method} ${request.url}: ${error}\n`);
    response.destroy();
  });
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method = '', url = '' } = request;
  const { pathname, searchParams } = new URL(url, 'https://server');
  const send = (status: number, body: unknown) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };
  const resource = pathname.endsWith('/leases') ? 'leases' : 'leasecandidates';
  if (pathname.includes('/kube-system/')) {
    if (method === 'GET' && searchParams.has('watch')) return watch(response);
    if (method === 'GET' && pathname.endsWith('/leases')) return send(200, list([]));
    if (method !== 'GET') lock = written(JSON.parse(await text(request)));
    return lock ? send(200, lock) : send(404, { kind: 'Status', code: 404 });
  }
  if (pathname === `${API}/v1beta1`) return send(200, { resources: [{ name: 'leasecandidates' }] });
  const isListed = pathname === `${API}/v1/leases` || pathname === `${API}/v1beta1/leasecandidates`;
  if (!isListed || method !== 'GET') return send(404, { kind: 'Status', code: 404 });
  if (searchParams.has('watch')) return watch(response, watches[resource]);
  const from = Number(searchParams.get('continue') ?? 0);
  const to = from + Number(searchParams.get('limit') ?? 500);
  const page = all[resource].slice(from, to).map((object) => object(String(revision)));
  send(200, list(page, to < all[resource].length ? String(to) : undefined));
}

function list(items: readonly string[], next?: string): object {
  return {
    metadata: { resourceVersion: String(revision), ...(next && { continue: next }) },
    items: items.map((item) => JSON.parse(item) as unknown),
  };
}

function written(object: { metadata: object }): object {
  revision += 1;
  return { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } };
}

function watch(response: ServerResponse, watchers?: Set<ServerResponse>): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  watchers?.add(response);
  response.once('close', () => watchers?.delete(response));
}

/** Sends renewals of one object after the other, evenly. Resolves to their number. */
async function renew({
  resource,
  perSecond,
  durationMs,
}: Extract<Command, { op: 'renew' }>): Promise<number> {
  const objects = all[resource];
  const startedAt = performance.now();
  let sent = 0;
  for (;;) {
    const elapsedMs = performance.now() - startedAt;
    const due = Math.floor((Math.min(elapsedMs, durationMs) * perSecond) / 1000);
    for (; sent < due; sent++) {
      revision += 1;
      const object = objects[sent % objects.length]?.(String(revision));
      for (const each of watches[resource]) each.write(`{"type":"MODIFIED","object":${object}}\n`);
    }
    if (elapsedMs >= durationMs) return sent;
    await new Promise((resolve) => setTimeout(resolve, BEAT_MS));
  }
}

obey<Command>(async (command) => {
  if (command.op === 'renew') return await renew(command);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
});
