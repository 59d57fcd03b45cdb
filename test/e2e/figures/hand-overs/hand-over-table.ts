import { distributionOf } from '../statistics.ts';
import { describeMs } from '../table.ts';
import type { HandOver } from './phases.ts';
import type { HandOverFigures, Phase } from './run.ts';

/** A row: its value for each hand-over of a phase, in milliseconds; undefined: it did not happen. */
export interface HandOverRow {
  readonly what: string;
  readonly phase: Phase;
  readonly of: (handOver: HandOver) => number | undefined;
}

/** The time from one event to a later one that may not have happened. */
export function between(
  from: keyof HandOver,
  to: keyof HandOver,
): (handOver: HandOver) => number | undefined {
  return (handOver) => {
    const [start, end] = [handOver[from], handOver[to]];
    return start === undefined ? undefined : (end ?? Number.POSITIVE_INFINITY) - start;
  };
}

/** From when the Lease was free, by a release or its expiry, to the next holder. */
export function sinceLetGo(handOver: HandOver): number | undefined {
  return between(handOver.releasedAt === undefined ? 'expiredAt' : 'releasedAt', 'heldAt')(handOver);
}

/**
 * Returns the figures as a table in Markdown: the minimum, the median and the maximum, and in brackets the ratio of
 * the median to `reference`'s median.
 */
export function handOverTable(
  { measured, scale }: HandOverFigures,
  rows: readonly HandOverRow[],
  reference: number,
): string {
  const lines = rows
    .filter(({ phase }) => scale.phases.includes(phase))
    .map(({ what, phase, of }) => {
      const medians = measured.map((each) => spreadOf(each.handOvers[phase], of)?.median);
      return [
        what,
        ...measured.map((each, index) => {
          const spread = spreadOf(each.handOvers[phase], of);
          if (!spread) return '';
          const ratio = ratioOf(medians[index], index === reference ? undefined : medians[reference]);
          const { least, median, greatest } = spread;
          return `${[least, median, greatest].map(describeMs).join(' / ')}${ratio}`;
        }),
      ];
    });
  if (measured.some(({ callsAtRest }) => callsAtRest)) {
    const perMinute = (key: 'perLeader' | 'perStandby') =>
      measured.map(({ callsAtRest }) => callsAtRest?.[key].toFixed(1) ?? '');
    lines.push(['API calls per leader and minute at rest', ...perMinute('perLeader')]);
    lines.push(['API calls per standby and minute at rest', ...perMinute('perStandby')]);
  }
  const header = ['', ...measured.map(({ contestant }) => contestant.title)];
  return [header, header.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The times of a contestant; undefined if it has none. */
export function spreadOf(handOvers: readonly HandOver[] | undefined, of: HandOverRow['of']) {
  const values = (handOvers ?? []).flatMap((handOver) => of(handOver) ?? []);
  if (values.length === 0) return undefined;
  const { p50, max } = distributionOf(values);
  return { least: Math.min(...values), median: p50, greatest: max };
}

function ratioOf(median: number | undefined, other: number | undefined): string {
  if (median === undefined || other === undefined || !Number.isFinite(median / other)) return '';
  const ratio = median / other;
  return ratio < 0.95 ? ` (1/${described(1 / ratio)})` : ` (×${described(ratio)})`;
}

function described(ratio: number): string {
  return ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(1);
}
