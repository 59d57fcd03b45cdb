import { readFile } from 'node:fs/promises';

/** What a process took while it was looked at. */
export interface ProcessUsage {
  /** The most that it had in memory, in bytes. */
  readonly maxRssBytes: number;
  /** The processors that it kept busy, as a mean: 1 is one of them all the time. */
  readonly cpus: number;
}

const SAMPLE_EVERY_MS = 500;
/** What Linux counts a process's time in, on every machine. */
const TICK_MS = 10;

/** Looks at a process from now on; the returned function tells of the time since. Needs the /proc of Linux. */
export async function watchUsage(pid: number): Promise<() => Promise<ProcessUsage>> {
  const startedAt = performance.now();
  const cpuMsBefore = await readCpuMs(pid);
  let maxRssBytes = (await readMemory(pid)).rss;
  const sampling = setInterval(() => {
    readMemory(pid).then(
      ({ rss }) => {
        maxRssBytes = Math.max(maxRssBytes, rss);
      },
      () => {}, // a process that has ended is noticed by whoever asks for its figures
    );
  }, SAMPLE_EVERY_MS);
  return async () => {
    clearInterval(sampling);
    const cpuMs = (await readCpuMs(pid)) - cpuMsBefore;
    return { maxRssBytes, cpus: cpuMs / (performance.now() - startedAt) };
  };
}

/** What a process has in memory, in bytes. */
export interface ProcessMemory {
  readonly rss: number;
  /** The most that `rss` has been since the process started. */
  readonly mostRss: number;
  /** Of `rss`, what is not a page of a file, which processes with the same program share. */
  readonly anonymous: number;
}

/** Needs the /proc of Linux. */
export async function readMemory(pid: number): Promise<ProcessMemory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const bytesOf = (field: string) =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
  return { rss: bytesOf('VmRSS'), mostRss: bytesOf('VmHWM'), anonymous: bytesOf('RssAnon') };
}

/** The processor time of all threads of a process so far, in milliseconds: tens of them. Needs the /proc of Linux. */
export async function readCpuMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  // Its second field, the program's name in brackets, may hold anything; user and system time are the 14th and 15th.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}
