import type { Clock } from '../../support/clock.ts';

const LONGEST_NAME = 63;
const SUFFIX_LENGTH = 5;
/** No vowels, and nothing that is easily taken for another letter: no words come about by accident. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789';

/** A name that begins with `prefix`, shortened where the whole would be longer than a DNS label. */
export function generateName(prefix: string, clock: Clock): string {
  let name = Buffer.from(prefix)
    .subarray(0, LONGEST_NAME - SUFFIX_LENGTH)
    .toString();
  for (let count = 0; count < SUFFIX_LENGTH; count += 1) {
    name += LETTERS[Math.floor(clock.random() * LETTERS.length)];
  }
  return name;
}
