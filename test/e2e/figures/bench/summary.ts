import { distributionOf } from '../statistics.ts';
import type { ContestantName } from './contestant.ts';
import { type Measure, measures, type Sample } from './measures.ts';

/** The statistic of a run's waits; a measure with one value per run has only that. */
export type Statistic = 'p50' | 'p90' | 'p99' | 'value';

/** The minimum, the median and the maximum of several rounds. */
export interface Spread {
  readonly least: number;
  readonly median: number;
  readonly greatest: number;
}

/** @throws RangeError if there are no values */
export function spreadOf(values: readonly number[]): Spread {
  const { p50, max } = distributionOf(values);
  return { least: Math.min(...values), median: p50, greatest: max };
}

export function statisticsOf(measure: Measure): readonly Statistic[] {
  return measures[measure].unit === 'wait' ? ['p50', 'p99'] : ['value'];
}

/** One statistic of one measure at one size. */
export interface Subject {
  readonly measure: Measure;
  readonly leases: number;
  readonly statistic: Statistic;
}

/** The statistic of each round, by the number of the round. */
export function byRound(
  samples: readonly Sample[],
  contestant: ContestantName,
  { measure, leases, statistic }: Subject,
): ReadonlyMap<number, number> {
  const own = samples.filter(
    (sample) => sample.contestant === contestant && sample.measure === measure && sample.leases === leases,
  );
  return new Map(
    own
      .filter(({ values }) => values.length > 0)
      .map(({ round, values }) => {
        const distribution = distributionOf(values);
        return [round, distribution[statistic === 'value' ? 'p50' : statistic]];
      }),
  );
}

/** The ratio of the two statistics, in each round with both. */
export function ratios(
  samples: readonly Sample[],
  one: ContestantName,
  other: ContestantName,
  subject: Subject,
): readonly number[] {
  const others = byRound(samples, other, subject);
  return [...byRound(samples, one, subject)].flatMap(([round, value]) => {
    const base = others.get(round);
    // A limit that knew the result in advance took no time.
    return base === undefined || base <= 0 || !Number.isFinite(base) ? [] : [value / base];
  });
}

/** The ratio of `of` to `measure`, for this controller, in each round. */
export function ratiosOfMeasures(
  samples: readonly Sample[],
  leases: number,
  of: Measure,
  measure: Measure,
): readonly number[] {
  const base = byRound(samples, 'this controller', { measure, leases, statistic: 'p50' });
  const values = byRound(samples, 'this controller', { measure: of, leases, statistic: 'p50' });
  return [...values].flatMap(([round, value]) => {
    const divisor = base.get(round);
    return divisor === undefined || divisor <= 0 ? [] : [value / divisor];
  });
}
