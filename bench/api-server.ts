// Compares the embedded API server with a real kube-apiserver: writes and reads per second, and events per second to
// 100 watchers, all in one run, in alternating rounds, so that other load on the machine affects both. npm run bench
// -- api-server [--rounds 3 --writes 2000]
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent as HttpsAgent, request } from 'node:https';
import { parseArgs } from 'node:util';
import { Channel, readWhole } from '../src/kubernetes/channel.ts';
import { startControlPlane } from '../test/control-plane/control-plane.ts';
import type { CoordinationPlane } from '../test/control-plane/coordination-plane.ts';
import { startEmbeddedPlane } from '../test/control-plane/embedded-plane.ts';

const CONNECTIONS = 32;
const WATCHERS = 100;

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, writes: { type: 'string', default: '2000' } },
});
const rounds = Number(values.rounds);
const writes = Number(values.writes);

interface Contender {
  readonly name: string;
  readonly plane: CoordinationPlane;
  readonly channel: Channel;
  readonly tls: { readonly ca: string };
  /** Per second, by kind of operation; one number for each round. */
  readonly rates: Map<string, number[]>;
}

async function contender(name: string, plane: CoordinationPlane): Promise<Contender> {
  const ca = await readFile(plane.caFile, 'utf8');
  const channel = new Channel({ server: plane.url });
  return { name, plane, channel, tls: { ca }, rates: new Map() };
}

async function send(
  { channel, plane, tls }: Contender,
  method: 'GET' | 'POST' | 'PUT' | 'PATCH',
  path: string,
  body?: object,
) {
  const answer = await channel.send({
    method,
    path,
    headers: {
      authorization: `Bearer ${plane.adminToken}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      'user-agent': 'bench/1',
    },
    body: body && JSON.stringify(body),
    tls,
    signal: AbortSignal.timeout(60_000),
  });
  const text = await readWhole(answer);
  if (answer.statusCode > 299) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  return text;
}

/** Does `count` operations, as many at a time as there are connections, and records the rate per second. */
async function measure(on: Contender, what: string, count: number, act: (index: number) => Promise<unknown>) {
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (next < count) await act(next++);
    }),
  );
  note(on, what, count / ((performance.now() - startedAt) / 1000));
}

function note({ rates }: Contender, what: string, rate: number): void {
  rates.set(what, [...(rates.get(what) ?? []), rate]);
}

const spec = (index: number) => ({
  holderIdentity: `holder-${index}`,
  leaseDurationSeconds: 15,
  renewTime: `2026-01-01T00:00:00.${String(index % 1_000_000).padStart(6, '0')}Z`,
});

async function round(on: Contender, namespace: string): Promise<void> {
  await send(on, 'POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
  const path = (index: number) => `${collection}/lease-${index}`;
  const objects: string[] = [];
  await measure(on, 'creates', writes, async (index) => {
    objects[index] = await send(on, 'POST', collection, {
      metadata: { name: `lease-${index}` },
      spec: spec(index),
    });
  });
  await measure(on, 'updates (PUT)', writes, (index) => {
    const object = JSON.parse(objects[index] ?? '{}') as { spec: object };
    return send(on, 'PUT', path(index), { ...object, spec: { ...object.spec, ...spec(index + 1) } });
  });
  await measure(on, 'merge patches', writes, (index) =>
    send(on, 'PATCH', path(index), { spec: { holderIdentity: `other-${index}` } }),
  );
  await measure(on, 'gets', writes, (index) => send(on, 'GET', path(index)));
  await measure(on, `lists of ${writes}`, 20, () => send(on, 'GET', collection));
  await watched(on, collection, path);
}

/** Counts each event of each watcher. */
async function watched(on: Contender, collection: string, path: (index: number) => string): Promise<void> {
  const list = JSON.parse(await send(on, 'GET', `${collection}?limit=1`)) as {
    metadata: { resourceVersion: string };
  };
  const from = list.metadata.resourceVersion;
  const events = Math.min(500, writes);
  const agent = new HttpsAgent({ maxSockets: WATCHERS, ca: on.tls.ca });
  let seen = 0;
  const { promise: allSeen, resolve } = Promise.withResolvers<void>();
  const watches = await Promise.all(
    Array.from({ length: WATCHERS }, async () => {
      const outgoing = request(new URL(`${collection}?watch=1&resourceVersion=${from}`, on.plane.url), {
        agent,
        headers: { authorization: `Bearer ${on.plane.adminToken}` },
      });
      outgoing.end();
      const [incoming] = (await once(outgoing, 'response')) as [NodeJS.ReadableStream];
      incoming.on('data', (chunk: Buffer) => {
        for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) seen += 1;
        if (seen >= events * WATCHERS) resolve();
      });
      outgoing.on('error', () => {});
      return outgoing;
    }),
  );
  const startedAt = performance.now();
  let next = 0;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (next < events) {
        const index = next++;
        await send(on, 'PATCH', path(index), { spec: { holderIdentity: `watched-${index}` } });
      }
    }),
  );
  await allSeen;
  note(on, `events to ${WATCHERS} watchers`, (events * WATCHERS) / ((performance.now() - startedAt) / 1000));
  for (const watch of watches) watch.destroy();
  agent.destroy();
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[numbers.length >> 1] ?? Number.NaN;
}

const planes = [
  { name: 'kube-apiserver 1.36.3 and etcd (no fsync)', plane: await startControlPlane() },
  { name: 'embedded, in memory', plane: await startEmbeddedPlane({ keepsData: false }) },
  { name: 'embedded, --data-dir', plane: await startEmbeddedPlane() },
];
try {
  const contenders = await Promise.all(planes.map(({ name, plane }) => contender(name, plane)));
  for (let index = 0; index <= rounds; index += 1) {
    for (const each of contenders) {
      await round(each, `bench-${index}`);
      // The first round is a warm-up.
      if (index === 0) each.rates.clear();
    }
  }
  const [real, ...ours] = contenders;
  for (const what of real?.rates.keys() ?? []) {
    const base = median(real?.rates.get(what) ?? []);
    const row = ours.map(({ name, rates }) => {
      const rate = median(rates.get(what) ?? []);
      return `${name} ${rate.toFixed(0)}/s (${(rate / base).toFixed(2)} x)`;
    });
    console.log(`${what}: ${real?.name} ${base.toFixed(0)}/s, ${row.join(', ')}`);
  }
  for (const { channel } of contenders) channel.cut();
} finally {
  await Promise.all(planes.map(({ plane }) => plane.stop()));
}
