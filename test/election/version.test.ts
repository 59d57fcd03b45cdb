import { describe, expect, test } from 'vitest';
import { parseVersion } from '../../src/election/version.ts';

/** Of candidates that nobody else in these tests has. */
let read = 0;
const newText = () => `7.7.${read++}`;

/** Reads new versions until what was known has been forgotten; `probe` is then one of the two that are known. */
function forgetAll(probe: string): void {
  const before = parseVersion(probe);
  for (let more = 0; more <= 1000 && parseVersion(probe) === before; more++) parseVersion(newText());
}

describe('a version', () => {
  test('is read once, however many candidates have it', () => {
    const text = newText();
    expect(parseVersion(text)).toBe(parseVersion(text));
    const longest = `1.2.3-${'x'.repeat(94)}`;
    expect(parseVersion(longest)).toBe(parseVersion(longest));
    const unreadable = `none-${newText()}`;
    expect(parseVersion(unreadable)).toBeUndefined();
    expect(parseVersion(unreadable)).toBeUndefined();
  });

  test('of more than a hundred characters is not remembered: somebody may write as many of those as they like', () => {
    const long = `1.2.3-${'x'.repeat(95)}`;
    expect(parseVersion(long)).toEqual(parseVersion(long));
    expect(parseVersion(long)).not.toBe(parseVersion(long));
  });

  test('is remembered beside 999 others, and all are forgotten with the next one', () => {
    const probe = newText();
    forgetAll(probe);
    const known = parseVersion(probe);
    for (let more = 0; more < 998; more++) parseVersion(newText());
    expect(parseVersion(probe)).toBe(known);
    parseVersion(newText());
    expect(parseVersion(probe)).not.toBe(known);
    expect(parseVersion(probe)).toEqual(known);
  });
});
