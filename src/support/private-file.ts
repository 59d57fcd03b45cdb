import { randomBytes } from 'node:crypto';
import { mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Writes a file that only its owner may read, and writes it whole: nobody ever finds half of it. */
export function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, file);
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
