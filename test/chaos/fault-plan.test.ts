import { describe, expect, test } from 'vitest';
import { faultKinds, planFaults } from './fault-plan.ts';

const MINUTE = 60_000;

describe('the plan of faults', () => {
  test('is the same for the same seed, and another one for another', () => {
    expect(planFaults(7, 15 * MINUTE)).toEqual(planFaults(7, 15 * MINUTE));
    expect(planFaults(8, 15 * MINUTE)).not.toEqual(planFaults(7, 15 * MINUTE));
  });

  test('of 15 minutes has every kind of fault, whatever the seed', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      const kinds = new Set(planFaults(seed, 15 * MINUTE).map(({ kind }) => kind));
      expect(faultKinds.filter((kind) => !kinds.has(kind))).toEqual([]);
    }
  });

  test('is over when the chaos is', () => {
    for (let seed = 0; seed < 200; seed += 1) {
      for (const { atMs, durationMs } of planFaults(seed, 2 * MINUTE)) {
        expect(atMs + durationMs).toBeLessThanOrEqual(2 * MINUTE);
      }
    }
  });

  test('of a longer chaos begins as that of a shorter one', () => {
    const [short, long] = [planFaults(7, 5 * MINUTE), planFaults(7, 10 * MINUTE)];
    const early = ({ atMs }: { readonly atMs: number }) => atMs < 4 * MINUTE;
    expect(short.filter(early)).toEqual(long.filter(early));
  });
});
