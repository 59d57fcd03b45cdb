import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../support/seeded-random.ts';
import { arrivals } from './first-start.ts';

describe('the candidates of a first start', () => {
  const random = seededRandom(1);
  const runs = Array.from({ length: 200 }, () => arrivals([30, 31, 32], random));

  test('arrive within two seconds, each of them once', () => {
    for (const run of runs) {
      expect(run.map(({ minor }) => minor).toSorted()).toEqual([30, 31, 32]);
      const times = run.map(({ afterMs }) => afterMs);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.every((time) => time >= 0 && time < 2_000)).toBe(true);
    }
  });

  test('arrive in every order that does not begin with the best one', () => {
    const orders = new Set(runs.map((run) => run.map(({ minor }) => minor).join(' ')));
    expect([...orders].toSorted()).toEqual(['31 30 32', '31 32 30', '32 30 31', '32 31 30']);
  });
});
