import { describe, expect, test } from 'vitest';
import { humanDuration } from '../../src/support/human-duration.ts';

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
