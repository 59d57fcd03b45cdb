// Loaded into a coordinator before its own code, by `--import <this>?file=<path>`. At each SIGUSR2, it writes into
// that file how long its event loop has been blocked so far, and the contents of its heap.
import { renameSync, writeFileSync } from 'node:fs';

/** A block of the event loop. */
export interface Hold {
  /** When it ended, in milliseconds since the Unix epoch. */
  readonly endedAt: number;
  readonly wallMs: number;
  /** In CPU time, to exclude other load of the machine. */
  readonly cpuMs: number;
}

/** The report of a coordinator. */
export interface ProcessReport {
  readonly holds: readonly Hold[];
  readonly heapUsedBytes: number;
}

const BEAT_MS = 2;
/** Shorter ones are not stored. */
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
  // It adds some cost to later measurements.
  clearInterval(beat);
  const report: ProcessReport = { holds, heapUsedBytes: process.memoryUsage().heapUsed };
  // A reader that waits for the file sees the complete file or none.
  writeFileSync(`${file}.part`, JSON.stringify(report));
  renameSync(`${file}.part`, file);
});
