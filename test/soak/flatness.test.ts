import { describe, expect, test } from 'vitest';
import { seededRandom } from '../support/seeded-random.ts';
import { judgeFlatness, type MemoryPoint } from './flatness.ts';

const MIB = 1024 * 1024;
/** As many as in half an hour with 500 Leases. */
const ELECTIONS_PER_SAMPLE = 15;

/** One sample every five seconds. `keptBytes`: used memory in addition to a coordinator's normal need. */
function makeSeries(
  keptBytes: (elections: number, minutes: number) => number,
  minutes = 30,
): readonly MemoryPoint[] {
  const random = seededRandom(7);
  return Array.from({ length: 12 * minutes }, (_, index) => {
    const elections = ELECTIONS_PER_SAMPLE * index;
    // Memory of pending work at the moment of the sample.
    const underWayBytes = 3 * MIB * random();
    return {
      atMs: 5_000 * index,
      elections,
      events: 0,
      bytes: 60 * MIB + underWayBytes + keptBytes(elections, index / 12),
    };
  });
}

const cases: readonly {
  name: string;
  keptBytes: (elections: number, minutes: number) => number;
  wantFlat: boolean;
}[] = [
  { name: 'nothing is kept', keptBytes: () => 0, wantFlat: true },
  { name: '1 kB is kept for each election', keptBytes: (elections) => 1024 * elections, wantFlat: false },
  {
    name: '1 kB is kept for each election, and released every five minutes',
    keptBytes: (elections) => 1024 * (elections % 900),
    wantFlat: true,
  },
  {
    name: 'a cache of a fixed size fills up in the first minutes',
    keptBytes: (_, minutes) => Math.min(8, minutes) * MIB,
    wantFlat: true,
  },
  {
    name: 'everything is kept from the middle of the run on',
    keptBytes: (elections) => Math.max(0, 4096 * (elections - 2700)),
    wantFlat: false,
  },
  { name: 'memory becomes less', keptBytes: (elections) => -1024 * elections, wantFlat: true },
  {
    name: 'every few minutes much is under way',
    keptBytes: (_, minutes) => (minutes % 3 < 1 ? 20 * MIB : 0),
    wantFlat: true,
  },
];

describe('memory is judged by the lower envelope of its use', () => {
  test.each(cases)('$name', ({ keptBytes, wantFlat }) => {
    expect(judgeFlatness(makeSeries(keptBytes))?.isFlat).toBe(wantFlat);
  });

  test('the bound is half a kB for each election, if there were enough of them', () => {
    expect(judgeFlatness(makeSeries((elections) => 300 * elections))?.isFlat).toBe(true);
    expect(judgeFlatness(makeSeries((elections) => 800 * elections))?.isFlat).toBe(false);
  });

  test('with few elections, only growth above noise counts', () => {
    expect(judgeFlatness(makeSeries(() => 0, 10))?.boundBytes).toBe(MIB);
  });

  test('remembered Events do not count, up to their maximum', () => {
    const written = (perElection: number) =>
      makeSeries(() => 0).map((point) => ({ ...point, events: perElection * point.elections }));
    const { boundBytes: bound = 0, elections = 0 } = judgeFlatness(written(0)) ?? {};
    expect(judgeFlatness(written(0.5))?.boundBytes).toBeCloseTo(bound + (1024 * elections) / 2);
    expect(judgeFlatness(written(10))?.boundBytes).toBe(bound);
  });

  test('a run without a warm-up is not judged', () => {
    expect(judgeFlatness(makeSeries(() => 0, 5))).toBeUndefined();
  });
});
