/** Durations in milliseconds; Infinity for one that never ended. */
export interface Distribution {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** @throws RangeError if there are no values */
export function distributionOf(values: readonly number[]): Distribution {
  if (values.length === 0) throw new RangeError('a distribution of nothing');
  const sorted = [...values].sort((a, b) => a - b);
  return {
    count: sorted.length,
    p50: quantile(sorted, 0.5),
    p90: quantile(sorted, 0.9),
    p99: quantile(sorted, 0.99),
    max: quantile(sorted, 1),
  };
}

/** The nearest rank, so that every quantile is a measured value. */
function quantile(sorted: readonly number[], fraction: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? Number.NaN;
}
