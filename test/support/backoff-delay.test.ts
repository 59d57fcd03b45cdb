import { expect, test } from 'vitest';
import { backoffDelayMs } from '../../src/support/backoff-delay.ts';

const RANGE = { initialMs: 100, maxMs: 1000 };

test.each([
  { failures: 0, want: 0 },
  { failures: 1, want: 100 },
  { failures: 2, want: 200 },
  { failures: 4, want: 800 },
  { failures: 5, want: 1000 },
  { failures: 5000, want: 1000 },
])(
  'the delay after $failures failures in a row is from half of $want ms to all of it',
  ({ failures, want }) => {
    expect([0, 0.5, 1].map((chance) => backoffDelayMs(failures, RANGE, chance))).toEqual([
      want / 2,
      want * 0.75,
      want,
    ]);
  },
);
