import { readFile, rm, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { type Coordinator, eventually, untilActive } from '../coordinator.ts';
import type { ProcessReport } from './process-report.ts';
import { readCpuMs, readMemory } from './process-usage.ts';

/** One start of a coordinator, and its resources at rest. Times in milliseconds, memory in bytes. */
export interface MeasuredStart {
  readonly readyMs: number;
  /** Of all its threads, until then. */
  readonly readyCpuMs: number;
  /** The longest block of its event loop, from the line `Started` until it was ready. */
  readonly heldMs: number;
  /** The CPU time of its main thread in that block. */
  readonly heldCpuMs: number;
  readonly restRss: number;
  readonly peakRss: number;
  readonly heapUsed: number;
}

/** Starts a coordinator, and resolves when it reports that it has started. */
export type StartWith = (nodeArgs: readonly string[]) => Promise<Coordinator>;

/**
 * Makes `startWith` start one, and waits until it is ready and active and for `restMs` more. Writes files into
 * `directory`.
 */
export async function measureStart(
  startWith: StartWith,
  directory: string,
  restMs: number,
): Promise<MeasuredStart> {
  const reportFile = join(directory, 'process-report.json');
  // Of an earlier start.
  await rm(reportFile, { force: true });
  const reporter = await plainReporter(directory);
  reporter.searchParams.set('file', reportFile);
  const spawnedAt = now();
  const coordinator = await startWith(['--import', reporter.href]);
  const startedAt = now();
  const readyAt = await eventually(
    async () => ((await coordinator.get('/readyz')).status === 200 ? now() : undefined),
    'the coordinator is ready',
    60_000,
    5,
  );
  const readyCpuMs = await readCpuMs(coordinator.pid);
  await untilActive(coordinator);
  await sleep(restMs);
  const { rss: restRss, peakRss } = await readMemory(coordinator.pid);
  coordinator.signal('SIGUSR2');
  const { holds, heapUsedBytes } = await eventually(
    () =>
      readFile(reportFile, 'utf8').then(
        (text) => JSON.parse(text) as ProcessReport,
        () => undefined,
      ),
    'the coordinator reports on itself',
  );
  // It loads its code until it reports that it has started.
  const held = holds.filter(
    ({ endedAt, wallMs }) => endedAt - wallMs >= startedAt && endedAt - wallMs < readyAt,
  );
  return {
    readyMs: readyAt - spawnedAt,
    readyCpuMs,
    heldMs: Math.max(0, ...held.map(({ wallMs }) => wallMs)),
    heldCpuMs: Math.max(0, ...held.map(({ cpuMs }) => cpuMs)),
    restRss,
    peakRss,
    heapUsed: heapUsedBytes,
  };
}

/** In milliseconds since the Unix epoch, as in a process report. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

/**
 * The reporter as JavaScript: Node would need some 40 MB more to read TypeScript, in the process whose memory is
 * measured.
 */
async function plainReporter(directory: string): Promise<URL> {
  const source = await readFile(new URL('./process-report.ts', import.meta.url), 'utf8');
  const file = join(directory, 'process-report.mjs');
  await writeFile(file, stripTypeScriptTypes(source));
  return pathToFileURL(file);
}
