// What it costs to tell thousands of watchers of a write: `node bench/watch-fan-out.ts`.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { ApiObject } from '../src/apiserver/schema/api-object.ts';
import { ObjectStore } from '../src/apiserver/storage/object-store.ts';
import { createEventEncoder } from '../src/apiserver/watch/event-encoder.ts';
import { type StreamSink, startWatch } from '../src/apiserver/watch/served-watch.ts';
import { systemClock } from '../src/support/system-clock.ts';

const LEASES = 1000;
const encode = createEventEncoder('bench', (object) => object, { kind: 'Lease' });

function makeLease(n: number): ApiObject {
  const now = new Date().toISOString();
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: `lease-${n}`, namespace: 'default', annotations: { padding: 'x'.repeat(400) } },
    spec: { holderIdentity: `holder-${n}`, renewTime: now, leaseDurationSeconds: 15 },
  };
}

function makeStore(): ObjectStore {
  const store = new ObjectStore();
  for (let n = 0; n < LEASES; n++) store.put('leases', makeLease(n));
  return store;
}

function watch(store: ObjectStore, sink: StreamSink, selects: (object: ApiObject) => boolean): void {
  startWatch({
    store,
    storage: 'leases',
    clock: systemClock,
    sink,
    from: { kind: 'revision', revision: store.revision },
    selects,
    encode,
    bookmarks: false,
    timeoutMs: 3_600_000,
  });
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function say(what: string, figures: Readonly<Record<string, number | string>>): void {
  const text = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`${what.padEnd(58)} ${text.join(', ')}\n`);
}

/** The processor time that this process spends on `writes` writes, `perTurn` of them at a time. */
async function inMemory(watchers: number, isOneEach: boolean, perTurn: number): Promise<void> {
  const store = makeStore();
  let [events, writes] = [0, 0];
  const sink: StreamSink = {
    write(chunk) {
      events += chunk.length > 0 ? 1 : 0;
      return true;
    },
    end: () => {},
    destroy: () => {},
    onDrain: () => {},
    onClose: () => {},
  };
  for (let n = 0; n < watchers; n++) {
    const name = `lease-${n % LEASES}`;
    watch(store, sink, isOneEach ? (object) => object.metadata.name === name : () => true);
  }
  const before = process.cpuUsage();
  for (let turn = 0; turn < 200; turn++) {
    for (let n = 0; n < perTurn; n++) store.put('leases', makeLease((turn * perTurn + n) % LEASES));
    writes += perTurn;
    await sleep(2);
  }
  const { user, system } = process.cpuUsage(before);
  const scope = isOneEach ? 'of one lease each' : 'of everything';
  say(`${watchers} watchers ${scope}, ${perTurn} writes a turn`, {
    'ms of CPU a write': ((user + system) / 1000 / writes).toFixed(3),
    'socket writes a write': (events / writes).toFixed(1),
  });
}

function sinkOf(response: ServerResponse): StreamSink {
  return {
    write: (chunk) => response.write(chunk),
    end: () => response.end(),
    destroy: () => response.destroy(),
    onDrain: (callback) => response.on('drain', callback),
    onClose: (callback) => response.on('close', callback),
  };
}

/** From a write to its arrival at each of the watchers, which live in another process. */
async function overSockets(watchers: number, writesPerSecond: number): Promise<void> {
  const store = makeStore();
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    watch(store, sinkOf(response), () => true);
  });
  server.listen(0, '127.0.0.1', 8192);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients = fork(new URL(import.meta.url), ['clients', String(port), String(watchers)]);
  await once(clients, 'message');

  const seconds = 5;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  let done = 0;
  while (done < seconds * writesPerSecond) {
    const due = Math.min(
      ((performance.now() - startedAt) / 1000) * writesPerSecond,
      seconds * writesPerSecond,
    );
    for (; done < due; done++) store.put('leases', makeLease(done % LEASES));
    await sleep(1);
  }
  const { user, system } = process.cpuUsage(before);
  await sleep(500);
  clients.send('report');
  const [report] = (await once(clients, 'message')) as [Readonly<Record<string, number>>];
  say(`${watchers} sockets, ${writesPerSecond} writes a second`, {
    'CPU %': Math.round((user + system) / 10 / (performance.now() - startedAt - 500)),
    ...report,
  });
  clients.kill();
  await once(clients, 'exit');
  server.closeAllConnections();
  server.close();
}

/** The clients' process: counts the events and how old each was when it arrived. */
async function beClients(port: number, count: number): Promise<void> {
  const ages: number[] = [];
  let events = 0;
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: bench\r\n\r\n');
    await once(socket, 'data');
    socket.on('data', (chunk) => {
      const now = Date.now();
      const text = chunk.toString('latin1');
      for (const [, time] of text.matchAll(/"renewTime":"([^"]+)"/g)) {
        events++;
        if (events % 97 === 0) ages.push(now - Date.parse(time ?? ''));
      }
    });
  }
  process.send?.('ready');
  await once(process, 'message');
  const sorted = ages.toSorted((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  process.send?.({ 'events received': events, 'ms p50': at(0.5), 'ms p99': at(0.99) });
}

const [role, port, count] = process.argv.slice(2);
if (role === 'clients') {
  await beClients(Number(port), Number(count));
} else {
  for (const watchers of [1000, 5000]) {
    for (const isOneEach of [false, true]) {
      for (const perTurn of [1, 20]) await inMemory(watchers, isOneEach, perTurn);
    }
  }
  for (const [watchers, rate] of [
    [1000, 20],
    [1000, 200],
    [5000, 20],
  ] as const) {
    await overSockets(watchers, rate);
  }
  // The watches would go on for an hour.
  process.exit();
}
