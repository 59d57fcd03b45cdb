import { randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Atomically writes a file that only its owner may read. Does nothing if the file is already private and has this text,
 * so that a program can restart on a full disk.
 */
export function writePrivateFile(file: string, text: string): void {
  if (holds(file, text)) return;
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}

/** Creates an empty file that only its owner may read. Does not change an existing file. */
export function createPrivateFile(file: string): void {
  try {
    writeFileSync(file, '', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** Creates a directory and its parents, accessible only by the owner. Does not change an existing directory. */
export function makePrivateDirectory(directory: string): void {
  const existing = statSync(directory, { throwIfNoEntry: false });
  if (existing?.isDirectory()) return;
  if (existing) throw new Error(`${directory} is a file, not a directory`);
  const parent = dirname(directory);
  if (parent !== directory) makePrivateDirectory(parent);
  // Do not use Node's option `recursive`: mkdirSync would never return on /proc, which refuses new directories.
  mkdirSync(directory, { mode: 0o700 });
}

/** Calls `act`. Wraps an error of `act` in a new error that names `what`, such as a file or a flag. */
export function withContext<T>(what: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new Error(`${what} cannot be used`, { cause });
  }
}

function holds(file: string, text: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  const isPrivate = stats?.isFile() === true && (stats.mode & 0o077) === 0;
  return isPrivate && stats.size === Buffer.byteLength(text) && readFileSync(file, 'utf8') === text;
}
