import { randomBytes } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file that only its owner may read, and writes it whole: nobody ever finds half of it. */
export function writePrivateFile(file: string, text: string): void {
  const unfinished = `${file}.${randomBytes(6).toString('hex')}`;
  writeFileSync(unfinished, text, { mode: 0o600, flag: 'wx' });
  renameSync(unfinished, file);
}
