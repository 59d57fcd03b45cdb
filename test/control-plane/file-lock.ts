import { mkdir, open, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const beatMs = 5_000;
const staleAfterMs = 4 * beatMs;

/**
 * Runs `work` while holding the lock file at `path`, which other processes on this file system respect. The holder
 * touches the file every few seconds. If a file has not been touched for 20 s, its process has died, and another one
 * takes over. Two processes that take over at the same instant may both enter: doing the work twice must be harmless.
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  while (!(await tryLock(path))) await sleep(250);
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, beatMs);
  try {
    return await work();
  } finally {
    clearInterval(heartbeat);
    await rm(path, { force: true });
  }
}

async function tryLock(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx');
    await file.writeFile(`${process.pid}\n`);
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const touched = await stat(path).catch(() => undefined);
  if (touched !== undefined && Date.now() - touched.mtimeMs > staleAfterMs) await rm(path, { force: true });
  return false;
}
