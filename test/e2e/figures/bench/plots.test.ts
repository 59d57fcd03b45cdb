import { describe, expect, test } from 'vitest';
import type { Sample } from './measures.ts';
import { cumulative, plotsOf } from './plots.ts';

describe('the share of elections that are over', () => {
  test('grows with each wait to all of them', () => {
    expect(cumulative([30, 10, 20, 40])).toEqual([
      [10, 0.25],
      [20, 0.5],
      [30, 0.75],
      [40, 1],
    ]);
  });

  test('ends below all where some never were', () => {
    expect(cumulative([10, Number.POSITIVE_INFINITY])).toEqual([[10, 0.5]]);
  });

  test('draws what took no time where the axis begins', () => {
    expect(cumulative([-3])).toEqual([[1, 1]]);
  });

  test('has no more points than can be seen, and the last one', () => {
    const points = cumulative(Array.from({ length: 5000 }, (_, index) => index + 1));
    expect(points.length).toBeLessThan(300);
    expect(points.at(-1)).toEqual([5000, 1]);
  });
});

describe('plots', () => {
  const waits: readonly Sample[] = [20, 300].map((leases) => ({
    contestant: 'this controller',
    measure: 'death',
    leases,
    round: 0,
    values: [5, 7, 9],
  }));

  test('have a panel for each size, and name everybody', () => {
    const svg = plotsOf(waits).get('bench-death.svg')?.svg ?? '';
    expect(svg).toMatch(/^<svg /);
    for (const text of ['20 Leases x 5', '300 Leases x 5', 'built-in', 'this controller', 'the limit'])
      expect(svg).toContain(text);
  });

  test('tell of memory and of the start by the number of candidates', () => {
    const upkeep = (['rss', 'heap', 'ready', 'held'] as const).map(
      (measure): Sample => ({ contestant: 'this controller', measure, leases: 300, round: 0, values: [1e8] }),
    );
    expect(plotsOf(upkeep).get('bench-upkeep.svg')?.svg).toContain('Memory at rest, in MB');
  });

  test('are not drawn of what was not measured', () => {
    expect([...plotsOf(waits).keys()]).toEqual(['bench-death.svg']);
  });
});
