import { get, type IncomingMessage } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { type Crowd, leaseName, startCrowd } from '../test/e2e/status-page/crowd.ts';

// The cost of the status page: `npm run bench -- status-page`. The Leases are simulated; the page, the stream and
// HTTP are real.

const LEASES = 10_000;
const CHANGES_PER_SECOND = 1000;
const SECONDS = 15;

/** Reads a stream until `text` has arrived, or for ever. */
async function read(url: string, encoding: 'gzip' | 'identity', text?: string) {
  const startedAt = performance.now();
  const { promise, resolve } = Promise.withResolvers<IncomingMessage>();
  get(`${url}status/events`, { headers: { 'accept-encoding': encoding } }, resolve);
  const answer = await promise;
  let [sent, told] = [0, 0];
  answer.on('data', (chunk: Buffer) => {
    sent += chunk.length;
  });
  const stream = encoding === 'gzip' ? answer.pipe(createGunzip()) : answer;
  const done = Promise.withResolvers<void>();
  stream.on('data', (chunk: Buffer) => {
    told += chunk.length;
    if (text !== undefined && chunk.includes(text)) done.resolve();
  });
  if (text !== undefined) await done.promise;
  return {
    ms: performance.now() - startedAt,
    counts: () => ({ sent, told }),
    end: () => answer.destroy(),
  };
}

const mib = (bytes: number) => `${(bytes / 1024 / 1024).toFixed(2)} MiB`;

async function measureSnapshot(crowd: Crowd, encoding: 'gzip' | 'identity'): Promise<void> {
  const before = process.cpuUsage();
  const reader = await read(crowd.url, encoding, 'event: complete');
  const { user, system } = process.cpuUsage(before);
  const { sent, told } = reader.counts();
  reader.end();
  await sleep(200);
  console.log(
    `${LEASES} Leases, ${encoding}: ${mib(sent)} on the wire, ${mib(told)} to read; ${reader.ms.toFixed()} ms, CPU ${((user + system) / 1000).toFixed()} ms`,
  );
}

async function measureChanges(crowd: Crowd, readers: number): Promise<void> {
  const opened = await Promise.all(
    Array.from({ length: readers }, () => read(crowd.url, 'gzip', 'event: complete')),
  );
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const sentBefore = opened.map(({ counts }) => counts().sent);
  const before = process.cpuUsage();
  const startedAt = performance.now();
  for (let changes = 0; changes < CHANGES_PER_SECOND * SECONDS; ) {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * CHANGES_PER_SECOND);
    for (; changes < due; changes++) {
      const name = leaseName(Math.floor(Math.random() * LEASES));
      const holderIdentity = `${name}-${changes % 2 ? 'a' : 'b'}`;
      crowd.leases.seeLease(name, { holderIdentity, leaseDurationSeconds: 3600 });
    }
    await sleep(10);
  }
  const wallMs = performance.now() - startedAt;
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  const bytes = opened.reduce((sum, { counts }, at) => sum + counts().sent - (sentBefore[at] ?? 0), 0);
  for (const { end } of opened) end();
  await sleep(200);
  console.log(
    `${CHANGES_PER_SECOND} changes a second, ${readers} reading: CPU ${((100 * (user + system)) / 1000 / wallMs).toFixed(1)} % of one, ` +
      `${(bytes / 1024 / (wallMs / 1000) / Math.max(1, readers)).toFixed(1)} KiB/s to each; event loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms, max ${(delay.max / 1e6).toFixed(1)} ms`,
  );
}

const crowd = await startCrowd(LEASES);
await measureSnapshot(crowd, 'identity');
await measureSnapshot(crowd, 'gzip');
await measureSnapshot(crowd, 'gzip');
for (const readers of [0, 1, 16]) await measureChanges(crowd, readers);
await crowd.stop();
