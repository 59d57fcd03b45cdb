import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { writeWholeFile } from './whole-file.ts';

/**
 * Writes a file that only its owner may read, and writes it whole: nobody ever finds half of it. One that is so already is
 * left alone, so that this needs no room on a full disk. What could not be written whole leaves nothing behind.
 */
export function writePrivateFile(file: string, text: string): void {
  if (holds(file, text)) return;
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`;
  writeWholeFile(file, unfinished, text, { mode: 0o600, flag: 'wx' });
}

/** Creates an empty file that only its owner may read; a file that exists is left as it is. */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

function holds(file: string, text: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  const isPrivate = stats?.isFile() === true && (stats.mode & 0o077) === 0;
  return isPrivate && stats.size === Buffer.byteLength(text) && readFileSync(file, 'utf8') === text;
}

/** Creates a directory that only its owner may use, and those above it; one that exists is left as it is. */
export function makePrivateDirectory(directory: string): void {
  const existing = statSync(directory, { throwIfNoEntry: false });
  if (existing?.isDirectory()) return;
  if (existing) throw new Error(`${directory} is a file, not a directory`);
  const parent = dirname(directory);
  if (parent !== directory) makePrivateDirectory(parent);
  // One by one: Node's own recursion never ends where a file system refuses to have directories made, as /proc does.
  mkdirSync(directory, { mode: 0o700 });
}
