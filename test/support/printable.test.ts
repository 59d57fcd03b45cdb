import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bounded } from '../../src/support/bounded.ts';
import { printable, printableJson, printableLines, shortened } from '../../src/support/printable.ts';

/** Whatever moves a cursor, turns text around or is not seen. */
const harmful = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115f\u3164]/u;

describe('text that others wrote', () => {
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

  test('keeps nothing harmful, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(printable(text)).not.toMatch(harmful);
        expect(printableLines(text, 1000).replaceAll('\n', '')).not.toMatch(harmful);
      }),
    );
  });

  test('says the same in JSON that has nothing harmful', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const json = printableJson(JSON.stringify({ text }));
        expect(json).not.toMatch(harmful);
        expect(JSON.parse(json)).toEqual({ text });
      }),
    );
  });

  test('is cut between characters', () => {
    expect(shortened('abc', 3)).toBe('abc');
    expect(shortened('abcd', 3)).toBe('ab…');
    expect(shortened('a🦊bc', 3)).toBe('a…');
  });

  test('is cut wherever it is in a value', () => {
    const long = 'x'.repeat(100_000);
    const error = new Error(long);
    const cut = bounded({ long, list: [{ long }], error, number: 1 }) as Record<string, unknown>;
    expect(JSON.stringify(cut).length).toBeLessThan(3000);
    expect(cut).toMatchObject({ error, number: 1 });
  });
});
