import { renameSync, rmSync, type WriteFileOptions, writeFileSync } from 'node:fs';

/**
 * Writes a file by way of another one beside it, so that nobody ever finds half of it. What could not be written whole leaves
 * nothing behind.
 */
export function writeWholeFile(
  file: string,
  unfinished: string,
  text: string,
  options: WriteFileOptions,
): void {
  try {
    writeFileSync(unfinished, text, options);
    renameSync(unfinished, file);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
}
