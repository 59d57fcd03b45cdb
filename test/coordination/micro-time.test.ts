import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatMicroTime, parseMicroTime } from '../../src/coordination/micro-time.ts';

/** 2026-01-02T03:04:05Z. */
const SECOND = BigInt(Date.UTC(2026, 0, 2, 3, 4, 5)) * 1000n;
const FIRST = BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1000n;
const LAST = BigInt(Date.parse('9999-12-31T23:59:59Z')) * 1000n + 999_999n;
const MICRO_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$/;

describe.each([
  { name: 'six decimals', text: '2026-01-02T03:04:05.678901Z', want: SECOND + 678_901n },
  { name: 'a metav1.Time without any', text: '2026-01-02T03:04:05Z', want: SECOND },
  { name: 'three decimals', text: '2026-01-02T03:04:05.678Z', want: SECOND + 678_000n },
  { name: 'one decimal', text: '2026-01-02T03:04:05.6Z', want: SECOND + 600_000n },
  { name: 'nine decimals', text: '2026-01-02T03:04:05.678901999Z', want: SECOND + 678_901n },
  { name: 'a single microsecond', text: '2026-01-02T03:04:05.000001Z', want: SECOND + 1n },
  { name: 'an offset to the east', text: '2026-01-02T05:04:05.000001+02:00', want: SECOND + 1n },
  { name: 'an offset to the west', text: '2026-01-01T21:34:05.000001-05:30', want: SECOND + 1n },
  { name: 'no offset, written out', text: '2026-01-02T03:04:05+00:00', want: SECOND },
  { name: 'the leap day', text: '2024-02-29T00:00:00Z', want: BigInt(Date.UTC(2024, 1, 29)) * 1000n },
  { name: 'the epoch', text: '1970-01-01T00:00:00.000000Z', want: 0n },
  { name: 'a moment before the epoch', text: '1969-12-31T23:59:59.999999Z', want: -1n },
  { name: 'the first moment', text: '0001-01-01T00:00:00.000000Z', want: FIRST },
  { name: 'the last moment', text: '9999-12-31T23:59:59.999999Z', want: LAST },
])('reading $name', ({ text, want }) => {
  test('keeps every microsecond', () => {
    expect(parseMicroTime(text)).toBe(want);
  });
});

test.each([
  ['February 30', '2026-02-30T00:00:00Z'],
  ['a leap day that is none', '2026-02-29T00:00:00Z'],
  ['April 31', '2026-04-31T00:00:00Z'],
  ['a 13th month', '2026-13-01T00:00:00Z'],
  ['a 25th hour', '2026-01-01T25:00:00Z'],
  ['midnight at the end of a day', '2026-01-01T24:00:00Z'],
  ['a 60th minute', '2026-01-01T00:60:00Z'],
  ['a date alone', '2026-01-01'],
  ['no zone', '2026-01-01T00:00:00'],
  ['a blank for the T', '2026-01-01 00:00:00Z'],
  ['a point without decimals', '2026-01-01T00:00:00.Z'],
  ['something behind it', '2026-01-01T00:00:00Z\n'],
  ['something before it', ' 2026-01-01T00:00:00Z'],
  ['an offset without a colon', '2026-01-01T00:00:00+0200'],
  ['an offset of a hundred hours', '2026-01-01T00:00:00+99:99'],
  ['a year of five digits', '+12026-01-01T00:00:00Z'],
  ['nothing', ''],
])('reading refuses %s', (_, text) => {
  expect(parseMicroTime(text)).toBeUndefined();
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.string(), (text) => ['bigint', 'undefined'].includes(typeof parseMicroTime(text))),
  );
});

describe.each([
  { time: SECOND, want: '2026-01-02T03:04:05.000000Z' },
  { time: SECOND + 1n, want: '2026-01-02T03:04:05.000001Z' },
  { time: SECOND + 678_000n, want: '2026-01-02T03:04:05.678000Z' },
  { time: 0n, want: '1970-01-01T00:00:00.000000Z' },
  { time: -1n, want: '1969-12-31T23:59:59.999999Z' },
  { time: -1001n, want: '1969-12-31T23:59:59.998999Z' },
  { time: FIRST, want: '0001-01-01T00:00:00.000000Z' },
  { time: LAST, want: '9999-12-31T23:59:59.999999Z' },
])('writing $want', ({ time, want }) => {
  test('puts exactly six decimals', () => {
    expect(formatMicroTime(time)).toBe(want);
  });
});

test('formatted times are parsed unchanged, from year 1 to year 9999', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: FIRST, max: LAST }), (time) => {
      const text = formatMicroTime(time);
      expect(text).toMatch(MICRO_TIME);
      expect(parseMicroTime(text)).toBe(time);
    }),
  );
});

test.each([
  { what: 'after the last', time: LAST + 1n, want: '9999-12-31T23:59:59.999999Z' },
  {
    what: 'that another zone puts after the last',
    time: parseMicroTime('9999-12-31T23:59:59.000000-23:59') ?? 0n,
    want: '9999-12-31T23:59:59.999999Z',
  },
  {
    what: 'that another zone puts before the first',
    time: parseMicroTime('0000-01-01T00:00:00.000000+23:59') ?? 0n,
    want: '0000-01-01T00:00:00.000000Z',
  },
])('a time $what is formatted as a valid one', ({ time, want }) => {
  expect(formatMicroTime(time)).toBe(want);
});
