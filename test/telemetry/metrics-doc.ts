import { readFile, writeFile } from 'node:fs/promises';
import { surveyElections } from '../../src/controller/elections-survey.ts';
import { REASONS } from '../../src/election/decision.ts';
import { registerLeaseMetrics } from '../../src/telemetry/election-metrics.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const page = new URL('../../docs/reference/metrics.md', import.meta.url);
const begin = (of: string) =>
  `<!-- The table of ${of} is generated from the code, by \`npm run docs\`. -->\n`;
const end = (of: string) => `<!-- End of the table of ${of}. -->\n`;

/** A metric in its registry. prom-client's types omit its properties. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly type: string;
  readonly samples: readonly Readonly<Record<string, unknown>>[];
}

/** Returns the page with the tables that match the code. */
export async function metricsPage(): Promise<{ readonly written: string; readonly wanted: string }> {
  const written = await readFile(page, 'utf8');
  const wanted = withTable(withTable(written, 'metrics', await metricsTable()), 'reasons', reasonsTable());
  return { written, wanted };
}

function withTable(text: string, of: string, table: string): string {
  const [before, rest = ''] = text.split(begin(of));
  const after = rest.split(end(of))[1] ?? '';
  return `${before}${begin(of)}\n${table}\n${end(of)}${after}`;
}

/** Updates the tables of docs/reference/metrics.md. */
export async function writeMetricsPage(): Promise<void> {
  await writeFile(page, (await metricsPage()).wanted);
}

function reasonsTable(): string {
  const rows = Object.entries(REASONS).map(([reason, sentence]) => [`\`${reason}\``, cell(sentence)]);
  return tableOf(['reason', 'what it means'], rows);
}

async function metricsTable(): Promise<string> {
  const rows = (await registeredMetrics())
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((metric) => [`\`${metric.name}\``, metric.type, labelsOf(metric), cell(`${metric.help}.`)]);
  return tableOf(['name', 'type', 'labels', 'what it tells'], rows);
}

function tableOf(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  return [titles, titles.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/** All metrics except those of the process, with a sample for each value of a label with a fixed set of values. */
export async function registeredMetrics(): Promise<Metric[]> {
  const metrics = createMetrics({ version: '0.0.0', clock: new VirtualClock() });
  metrics.watch({ survey: () => surveyElections([]) });
  metrics.lock.changed({ kind: 'standby' });
  registerLeaseMetrics(metrics.registry, () => []);
  const described = await metrics.registry.getMetricsAsJSON();
  return described.map(({ name, help, type, values }) => {
    const { labelNames = [] } = metrics.registry.getSingleMetric(name) as unknown as Partial<Metric>;
    return { name, help, type: String(type), labelNames, samples: values.map(({ labels }) => labels) };
  });
}

/** With all their values, if these are a fixed set: then each exists from the start. */
function labelsOf({ labelNames, samples, name }: Metric): string {
  return labelNames
    .map((label) => {
      const values = new Set(samples.flatMap((labels) => (label in labels ? [String(labels[label])] : [])));
      const isOpen = values.size === 0 || name === 'cle_build_info';
      return isOpen ? `\`${label}\`` : `\`${label}\`: ${[...values].join(', ')}`;
    })
    .join('; ');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}

if (import.meta.main) await writeMetricsPage();
