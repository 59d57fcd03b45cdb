import { describeMs } from '../table.ts';
import { type ContestantName, contestants } from './contestant.ts';
import { type Measure, measures, type Sample } from './measures.ts';
import { byRound, ratios, type Spread, type Subject, spreadOf, statisticsOf } from './summary.ts';

/**
 * Returns all measurements as a table in Markdown. Cells contain the minimum, the median and the maximum of all
 * rounds; one value if they are equal.
 */
export function benchTable(samples: readonly Sample[]): string {
  const header = ['what', ...contestants, 'ours / limit', 'built-in / ours'];
  const lines = subjectsOf(samples).map((subject) => [
    titleOf(subject),
    ...contestants.map((contestant) => spreadCell(samples, contestant, subject)),
    ratioCell(ratios(samples, 'this controller', 'the limit', subject)),
    ratioCell(ratios(samples, 'built-in', 'this controller', subject)),
  ]);
  return markdown([header, header.map(() => '---'), ...lines]);
}

export function markdown(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** All available figures: scenario by scenario, from the smallest size to the largest. */
function subjectsOf(samples: readonly Sample[]): readonly Subject[] {
  const sizes = [...new Set(samples.map(({ leases }) => leases))].sort((a, b) => a - b);
  return (Object.keys(measures) as Measure[]).flatMap((measure) =>
    sizes
      .filter((leases) => samples.some((sample) => sample.measure === measure && sample.leases === leases))
      .flatMap((leases) => statisticsOf(measure).map((statistic) => ({ measure, leases, statistic }))),
  );
}

function titleOf({ measure, leases, statistic }: Subject): string {
  const suffix = statistic === 'value' ? '' : `: ${statistic}`;
  return `${measures[measure].what}, ${leases} x 5${suffix}`;
}

function spreadCell(samples: readonly Sample[], contestant: ContestantName, subject: Subject): string {
  const values = [...byRound(samples, contestant, subject).values()];
  return values.length === 0
    ? ''
    : describeSpread(spreadOf(values), (value) => describe(subject.measure, value));
}

function ratioCell(values: readonly number[]): string {
  return values.length === 0 ? '' : describeSpread(spreadOf(values), describeRatio);
}

function describeSpread({ least, median, greatest }: Spread, text: (value: number) => string): string {
  const all = [least, median, greatest].map(text);
  return new Set(all).size === 1 ? (all[0] ?? '') : all.join(' / ');
}

/** Formats a ratio with useful digits only. */
export function describeRatio(ratio: number): string {
  if (!Number.isFinite(ratio)) return '∞';
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(2);
}

/** Formats a value of a measure, in its unit. */
export function describe(measure: Measure, value: number): string {
  switch (measures[measure].unit) {
    case 'wait':
    case 'ms':
      return value < 10 ? `${value.toFixed(1)} ms` : describeMs(value);
    case 'bytes':
      return `${Math.round(value / 1e6)} MB`;
    case 'cores':
      return `${(value * 100).toFixed(1)} %`;
    case 'count':
      return Number.isInteger(value) ? String(value) : value.toFixed(2);
  }
}
