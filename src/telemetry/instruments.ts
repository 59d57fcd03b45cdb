import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

type LabelValues<L extends string> = Readonly<Record<L, readonly string[]>>;

export function instrumentsOf(registry: Registry) {
  const registers = [registry];
  return {
    /** Registers a counter. All series of `values` start at zero, so that a rate includes the first increase. */
    counter<L extends string = never>(name: string, help: string, values = {} as LabelValues<L>): Counter<L> {
      const counter = new Counter({ name, help, labelNames: labelsOf(values), registers });
      for (const labels of combinations(values)) counter.inc(labels, 0);
      return counter;
    },
    /** Registers a gauge. Each scrape calls `collect` first. */
    gauge<L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[],
      collect: (gauge: Gauge<L>) => void | Promise<void> = () => {},
    ): Gauge<L> {
      const gauge: Gauge<L> = new Gauge({ name, help, labelNames, registers, collect: () => collect(gauge) });
      return gauge;
    },
    /** Registers a histogram. All series of `values` start at zero. */
    histogram<L extends string = never>(
      name: string,
      help: string,
      buckets: readonly number[],
      values = {} as LabelValues<L>,
    ): Histogram<L> {
      const labelNames = labelsOf(values);
      const histogram = new Histogram({ name, help, labelNames, buckets: [...buckets], registers });
      if (labelNames.length > 0) for (const labels of combinations(values)) histogram.zero(labels);
      return histogram;
    },
  };
}

function labelsOf<L extends string>(values: LabelValues<L>): L[] {
  return Object.keys(values) as L[];
}

function combinations<L extends string>(values: LabelValues<L>): Record<L, string>[] {
  return labelsOf(values).reduce(
    (found, label) =>
      found.flatMap((labels) => values[label].map((value) => ({ ...labels, [label]: value }))),
    [{} as Record<L, string>],
  );
}
