import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDurationMs, parseDurationMs } from '../../src/support/duration.ts';

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

  test('that was written is read back as it was', () => {
    fc.assert(
      fc.property(fc.nat({ max: 1_000_000_000 }), (durationMs) => {
        expect(parseDurationMs(formatDurationMs(durationMs))).toBe(durationMs);
      }),
    );
  });

  test('is written in the largest units that fit', () => {
    expect([0, 999, 10_000, 5_400_000, 3_600_001].map(formatDurationMs)).toEqual([
      '0s',
      '999ms',
      '10s',
      '1h30m',
      '1h1ms',
    ]);
  });
});
