import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { WatchedResource } from '../controller/controller-event.ts';
import type { ElectionsSurvey } from '../controller/elections-survey.ts';
import type { RequestRoom } from '../controller/order-and-limit.ts';
import type { Instant } from '../support/clock.ts';

/** Sources from which gauges read their values at each scrape. A source is absent until `Metrics.watch` adds it. */
export interface ScrapeSources {
  readonly scheduler?: {
    readonly depth: number;
    readonly room: Pick<RequestRoom, 'limit' | 'inFlight' | 'waiting'>;
  };
  /** Surveys the Leases. `known`: the `redundancy` that the last survey returned. */
  readonly survey?: (known: ElectionsSurvey['redundancy'] | undefined) => Promise<ElectionsSurvey>;
  /** Returns when the longest-silent watch last received data; undefined if there is no watch, or a watch has no data yet. */
  readonly lastHeard?: (resource: WatchedResource) => Instant | undefined;
  /** Number of locks that other coordinators hold in other namespaces. */
  readonly otherLocks?: () => number;
  /**
   * Whether this replica refuses to coordinate, because `lockNamespace` is not kube-system and the API server serves
   * native LeaseCandidates (rule 10).
   */
  readonly isLockRefused?: () => boolean;
}

type LabelValues<L extends string> = Readonly<Record<L, readonly string[]>>;

export function instrumentsOf(registry: Registry) {
  const registers = [registry];
  return {
    /**
     * Registers a counter. A series for each combination of the label values in `values` starts at zero, so that the
     * rates of Prometheus include the first increase. If the list of a label is empty, no series exists at first.
     */
    counter<L extends string = never>(name: string, help: string, values = {} as LabelValues<L>): Counter<L> {
      const counter = new Counter({ name, help, labelNames: labelsOf(values), registers });
      for (const labels of combinations(values)) counter.inc(labels, 0);
      return counter;
    },
    /** Registers a gauge. Each scrape calls `collect` before it reads the gauge. */
    gauge<L extends string = never>(
      name: string,
      help: string,
      labelNames: readonly L[],
      collect: (gauge: Gauge<L>) => void | Promise<void> = () => {},
    ): Gauge<L> {
      const gauge: Gauge<L> = new Gauge({ name, help, labelNames, registers, collect: () => collect(gauge) });
      return gauge;
    },
    /** Registers a histogram. A series for each combination of the label values in `values` starts at zero. */
    histogram<L extends string = never>(
      name: string,
      help: string,
      buckets: readonly number[],
      values = {} as LabelValues<L>,
    ): Histogram<L> {
      const labelNames = labelsOf(values);
      const histogram = new Histogram({ name, help, labelNames, buckets: [...buckets], registers });
      for (const labels of combinations(values)) histogram.zero(labels);
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
