import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bounded,
  formatDurationMs,
  humanDuration,
  parseDurationMs,
  printable,
  printableJson,
  printableLines,
  shortened,
} from '../../src/support/text.ts';

describe('a duration', () => {
  test.each([
    { text: '500ms', wantMs: 500 },
    { text: '5s', wantMs: 5000 },
    { text: '30m', wantMs: 1_800_000 },
    { text: '2h', wantMs: 7_200_000 },
    { text: '1h30m', wantMs: 5_400_000 },
    { text: '1.5s', wantMs: 1500 },
    { text: '1.001s', wantMs: 1001 },
    { text: '0s', wantMs: 0 },
  ])('$text is $wantMs ms', ({ text, wantMs }) => {
    expect(parseDurationMs(text)).toBe(wantMs);
  });

  test.each(['', '5', 's', '-5s', '5 s', '5S', '1d', '5s,', 'abc', '.5s', '0.1ms', '99999999999999h'])(
    'is not read from "%s"',
    (text) => {
      expect(parseDurationMs(text)).toBeUndefined();
    },
  );

  test('that was formatted is parsed unchanged', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000_000 }), (durationMs) => {
        expect(parseDurationMs(formatDurationMs(durationMs))).toBe(durationMs);
      }),
    );
  });

  test('is formatted in the largest units that fit', () => {
    expect([0, 999, 10_000, 5_400_000, 3_600_001].map(formatDurationMs)).toEqual([
      '0s',
      '999ms',
      '10s',
      '1h30m',
      '1h1ms',
    ]);
  });
});

const MINUTE = 60;

const HOUR = 3600;

const DAY = 86_400;

const YEAR = 365 * DAY;

describe('a duration', () => {
  test.each([
    [-2, '<invalid>'],
    [-1.9, '0s'],
    [-1, '0s'],
    [0, '0s'],
    [0.999, '0s'],
    [119.9, '119s'],
    [2 * MINUTE, '2m'],
    [9 * MINUTE + 59, '9m59s'],
    [10 * MINUTE + 59, '10m'],
    [3 * HOUR - 1, '179m'],
    [3 * HOUR, '3h'],
    [7 * HOUR + 59 * MINUTE, '7h59m'],
    [8 * HOUR + 59 * MINUTE, '8h'],
    [2 * DAY - 1, '47h'],
    [2 * DAY, '2d'],
    [7 * DAY + 23 * HOUR, '7d23h'],
    [8 * DAY + 23 * HOUR, '8d'],
    [2 * YEAR - 1, '729d'],
    [2 * YEAR, '2y'],
    [7 * YEAR + 364 * DAY, '7y364d'],
    [8 * YEAR + 364 * DAY, '8y'],
  ])('of %d seconds is %s', (seconds, want) => {
    expect(humanDuration(seconds)).toBe(want);
  });
});

/** Characters that move the cursor, change the direction of text or are invisible. */
const harmful = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u3164]/u;

describe('untrusted text', () => {
  test.each([
    { what: 'escapes of terminals', text: '\u001b[2J\u009b31m', want: '^[[2J\\x9b31m' },
    { what: 'marks of direction', text: 'a\u202eb\u2066c', want: 'a\\u202eb\\u2066c' },
    { what: 'characters without width', text: 'a\u200bb\ufeffc\u00ad', want: 'a\\u200bb\\ufeffc\\xad' },
    { what: 'characters that nobody sees', text: '\u3164\u{e0041}', want: '\\u3164\\udb40\\udc41' },
    { what: 'line ends', text: 'a\nb\u2028c\r', want: 'a^Jb\\u2028c^M' },
    { what: 'halves of characters', text: 'a\ud800b', want: 'a\\ud800b' },
    { what: 'letters of any script', text: 'pod-ä-п-名-🦊', want: 'pod-ä-п-名-🦊' },
  ])('is shown without $what', ({ text, want }) => {
    expect(printable(text)).toBe(want);
  });

  test('has no harmful characters left, for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(harmful);
        expect(printableLines(text, 1000).replaceAll('\n', '')).not.toMatch(harmful);
      }),
    );
  });

  test('has the same meaning in JSON without harmful characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = printableJson(JSON.stringify({ text }));
        expect(json).not.toMatch(harmful);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
  });

  test('is truncated between characters', () => {
    expect(shortened('abc', 3)).toBe('abc');
    expect(shortened('abcd', 3)).toBe('ab…');
    expect(shortened('a🦊bc', 3)).toBe('a…');
  });

  test('is truncated at any place in a value', () => {
    const long = 'x'.repeat(100_000);
    const error = new Error(long);
    const cut = bounded({ long, list: [{ long }], error, number: 1 }) as Record<string, unknown>;
    expect(JSON.stringify(cut).length).toBeLessThan(3000);
    expect(cut).toMatchObject({ error, number: 1 });
  });
});
