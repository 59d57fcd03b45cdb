import { describe, expect, test } from 'vitest';
import { parseVersion, versionOf } from '../../src/election/strategies.ts';
import { makeCandidate } from '../support/election-builders.ts';

/** Versions that no other test uses. */
let read = 0;
const newText = () => `7.7.${read++}`;

/** Reads new versions until old ones have left the cache. `probe` is then one of the two cached versions. */
function forgetAll(probe: string): void {
  const before = parseVersion(probe);
  for (let more = 0; more <= 1000 && parseVersion(probe) === before; more++) parseVersion(newText());
}

describe('a version', () => {
  test('is parsed once, for any number of candidates', () => {
    const text = newText();
    expect(parseVersion(text)).toBe(parseVersion(text));
    const longest = `1.2.3-${'x'.repeat(94)}`;
    expect(parseVersion(longest)).toBe(parseVersion(longest));
    const unreadable = `none-${newText()}`;
    expect(parseVersion(unreadable)).toBeUndefined();
    expect(parseVersion(unreadable)).toBeUndefined();
  });

  test('of more than a hundred characters is not cached: a client may write as many of those as it likes', () => {
    const long = `1.2.3-${'x'.repeat(95)}`;
    expect(parseVersion(long)).toEqual(parseVersion(long));
    expect(parseVersion(long)).not.toBe(parseVersion(long));
  });

  test('of more than a hundred characters is parsed once for each candidate', () => {
    const long = `1.2.3-${'x'.repeat(95)}`;
    const [candidate, other] = [makeCandidate('a'), makeCandidate('b')].map((one) =>
      one.versions(long, `${long}y`).build(),
    );
    if (!candidate || !other) throw new Error('there are two');
    expect(versionOf(candidate, 'binary')?.version).toBe(long);
    expect(versionOf(candidate, 'emulation')?.version).toBe(`${long}y`);
    expect(versionOf(candidate, 'binary')).toBe(versionOf(candidate, 'binary'));
    expect(versionOf(candidate, 'emulation')).toBe(versionOf(candidate, 'emulation'));
    expect(versionOf(candidate, 'binary')).not.toBe(versionOf(other, 'binary'));
  });

  test('of a candidate is undefined if it is missing or invalid, whatever the other one is', () => {
    const known = makeCandidate('a').versions('1.36.0', 'none').build();
    expect(versionOf(known, 'binary')?.version).toBe('1.36.0');
    expect(versionOf(known, 'emulation')).toBeUndefined();
    const unset = { ...known, binaryVersion: undefined, emulationVersion: '1.35.0' };
    expect(versionOf(unset, 'binary')).toBeUndefined();
    expect(versionOf(unset, 'emulation')?.version).toBe('1.35.0');
  });

  test('is cached beside 999 others, and the next one clears the cache', () => {
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
