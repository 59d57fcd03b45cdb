import { Registry } from 'prom-client';
import { collectProcessMetrics } from '../../src/telemetry/metrics.ts';
import { registeredMetrics } from '../telemetry/metrics-doc.ts';
import type { LabelMatcher, PromqlReading, Selector } from './promql.ts';

/** The labels of a series, each with all its values; undefined if the values are not a fixed set. */
type KnownLabels = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** Labels from scraping, and of a Prometheus with several clusters. */
const TARGET_LABELS: readonly string[] = ['instance', 'job', 'pod', 'namespace', 'cluster'];

/** Prometheus' own series about its alerts. */
const ALERTS: KnownLabels = new Map([
  ['alertname', undefined],
  ['alertstate', new Set(['pending', 'firing'])],
  ['severity', new Set(['warning', 'critical'])],
]);

/** Every series that a coordinator exports by default, by name. */
export async function knownSeries(): Promise<ReadonlyMap<string, KnownLabels>> {
  const known = new Map<string, KnownLabels>([['ALERTS', ALERTS]]);
  const ofProcess = new Registry();
  collectProcessMetrics(ofProcess);
  for (const { name } of await ofProcess.getMetricsAsJSON()) addProcessMetric(known, name, ofProcess);
  for (const { name, type, labelNames, samples } of await registeredMetrics()) {
    // The additional series with --lease-metrics.
    if (name.startsWith('cle_lease_')) continue;
    const labels = new Map(
      labelNames.map((label) => {
        const values = new Set(samples.flatMap((each) => (label in each ? [String(each[label])] : [])));
        return [label, values.size === 0 || label === 'version' ? undefined : values] as const;
      }),
    );
    add(known, name, type, labels);
  }
  return known;
}

function addProcessMetric(known: Map<string, KnownLabels>, name: string, registry: Registry): void {
  const metric = registry.getSingleMetric(name) as unknown as { labelNames?: string[]; type: string };
  const labels = new Map((metric.labelNames ?? []).map((label) => [label, undefined] as const));
  add(known, name, metric.type, labels);
}

function add(known: Map<string, KnownLabels>, name: string, type: string, labels: KnownLabels): void {
  if (type !== 'histogram') {
    known.set(name, labels);
    return;
  }
  known.set(`${name}_bucket`, new Map([...labels, ['le', undefined]]));
  for (const part of ['sum', 'count']) known.set(`${name}_${part}`, labels);
}

/** Describes series and labels in an expression that do not exist; empty if all exist. */
export function unknownIn(
  reading: PromqlReading,
  known: ReadonlyMap<string, KnownLabels>,
): readonly string[] {
  const labels = new Set(TARGET_LABELS);
  for (const { metric } of reading.selectors) {
    for (const label of known.get(metric)?.keys() ?? []) labels.add(label);
  }
  return [
    ...reading.selectors.flatMap((selector) => unknownInSelector(selector, known.get(selector.metric))),
    ...reading.groupingLabels.filter((label) => !labels.has(label)).map((label) => `by ${label}`),
  ];
}

function unknownInSelector(
  { metric, matchers }: Selector,
  labels: KnownLabels | undefined,
): readonly string[] {
  if (!labels) return [metric];
  return matchers.flatMap(({ label, operator, value }) => {
    if (TARGET_LABELS.includes(label)) return [];
    const unknown = labels.has(label) ? unknownValues({ label, operator, value }, labels.get(label)) : [''];
    return unknown.map((each) => `${metric}{${label}${operator}"${each}"}`);
  });
}

function unknownValues({ operator, value }: LabelMatcher, values: ReadonlySet<string> | undefined) {
  if (!values) return [];
  const asked = operator.endsWith('~') ? value.split('|') : [value];
  return asked.filter((each) => !values.has(each));
}
