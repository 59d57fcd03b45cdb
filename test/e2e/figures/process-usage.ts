import { readFile } from 'node:fs/promises';

/** The resources that a process used during the observation. */
export interface ProcessUsage {
  /** Its maximum memory, in bytes. */
  readonly maxRssBytes: number;
  /** The mean number of CPUs that it used: 1 is one of them all the time. */
  readonly cpus: number;
}

const SAMPLE_EVERY_MS = 500;
/** Linux's unit of process times, on every machine. */
const TICK_MS = 10;

/** Observes a process from now on. The returned function returns its usage since then. Needs the /proc of Linux. */
export async function watchUsage(pid: number): Promise<() => Promise<ProcessUsage>> {
  const startedAt = performance.now();
  const cpuMsBefore = await readCpuMs(pid);
  let maxRssBytes = (await readMemory(pid)).rss;
  const sampling = setInterval(() => {
    readMemory(pid).then(
      ({ rss }) => {
        maxRssBytes = Math.max(maxRssBytes, rss);
      },
      () => {}, // The caller notices that the process has exited when it asks for its figures.
    );
  }, SAMPLE_EVERY_MS);
  return async () => {
    clearInterval(sampling);
    const cpuMs = (await readCpuMs(pid)) - cpuMsBefore;
    return { maxRssBytes, cpus: cpuMs / (performance.now() - startedAt) };
  };
}

/** The memory of a process, in bytes. */
export interface ProcessMemory {
  readonly rss: number;
  /** The maximum of `rss` since the process started. */
  readonly peakRss: number;
  /** The part of `rss` that is not a page of a file, which processes with the same program share. */
  readonly anonymous: number;
}

/** Needs the /proc of Linux. */
export async function readMemory(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { rss: bytesOf('VmRSS'), peakRss: bytesOf('VmHWM'), anonymous: bytesOf('RssAnon') };
}

/**
 * The CPU time of all threads of a process so far, in milliseconds, with a resolution of ten. Needs the /proc of
 * Linux.
 */
export async function readCpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Its second field, the program's name in brackets, may contain anything; user and system time are the 14th and
  // 15th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
