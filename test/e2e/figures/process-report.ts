// Loaded into a coordinator before its own code, by `--import <this>?file=<path>`: writes into that file, at each SIGUSR2,
// by how much its event loop has been held so far, and what is on its heap.
import { renameSync, writeFileSync } from 'node:fs';

/** A time during which nothing else could run. */
export interface Hold {
  /** When it ended, in milliseconds since the Unix epoch. */
  readonly endedAt: number;
  readonly wallMs: number;
  /** Of the processor's time, so that what the rest of the machine does is not in it. */
  readonly cpuMs: number;
}

/** What a coordinator tells of itself. */
export interface ProcessReport {
  readonly holds: readonly Hold[];
  readonly heapUsedBytes: number;
}

const BEAT_MS = 2;
/** Shorter ones are not kept. */
const LEAST_MS = 5;

const file = new URL(import.meta.url).searchParams.get('file') ?? '';
const holds: Hold[] = [];
let beatAt = performance.now();
let used = process.threadCpuUsage();
const beat = setInterval(() => {
  const now = performance.now();
  const { user, system } = process.threadCpuUsage(used);
  const wallMs = now - beatAt - BEAT_MS;
  if (wallMs >= LEAST_MS)
    holds.push({ endedAt: performance.timeOrigin + now, wallMs, cpuMs: (user + system) / 1000 });
  beatAt = now;
  used = process.threadCpuUsage();
}, BEAT_MS);
beat.unref();

process.on('SIGUSR2', () => {
  // It costs some of what is measured next.
  clearInterval(beat);
  const report: ProcessReport = { holds, heapUsedBytes: process.memoryUsage().heapUsed };
  // Whoever waits for the file sees the whole of it or none.
  writeFileSync(`${file}.part`, JSON.stringify(report));
  renameSync(`${file}.part`, file);
});
