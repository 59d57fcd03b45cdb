import type { Clock } from '../../support/clock.ts';
import { writeWholeFile } from '../../support/files.ts';
import type { Leadership } from './leadership.ts';

/** What a {@link keepLeaderFile} needs. */
export interface LeaderFileParts {
  readonly file: string;
  readonly leadership: Leadership;
  readonly clock: Clock;
  /** Told of a write that failed after one that did not. */
  readonly onFailure: (error: unknown) => void;
}

/** While it leads, in milliseconds: what the file says must not run out as long as it is so. */
const EVERY_MS = 1000;

/**
 * Keeps a file that tells who leads: who reads it finds all of it, as it was at one moment, and until when that holds.
 *
 * @returns what ends it; the file then says that this candidate does not lead.
 * @throws {Error} when it cannot be written the first time.
 */
export function keepLeaderFile({ file, leadership, clock, onFailure }: LeaderFileParts): () => void {
  let cancel = () => {};
  let hasFailed = false;

  const write = () => {
    cancel();
    const account = leadership.account();
    const text = `${JSON.stringify({ ...account, validUntil: wallTimeIn(account.validForMs, clock) })}\n`;
    // Everybody may read it: the program beside this one is often another user.
    writeWholeFile(file, `${file}.new`, text, { mode: 0o644 });
    if (account.leading) cancel = clock.setTimer(writeOrTell, EVERY_MS);
  };
  const writeOrTell = () => {
    try {
      write();
      hasFailed = false;
    } catch (error) {
      if (!hasFailed) onFailure(error);
      hasFailed = true;
      cancel = clock.setTimer(writeOrTell, EVERY_MS);
    }
  };

  write();
  const forget = leadership.onChange(writeOrTell);
  return () => {
    forget();
    writeOrTell();
    cancel();
  };
}

function wallTimeIn(ms: number, clock: Clock): string {
  return new Date(Number(clock.wallTime() / 1000n) + ms).toISOString();
}
