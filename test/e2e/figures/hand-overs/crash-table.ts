import { distributionOf } from '../statistics.ts';
import { describeMs } from '../table.ts';
import { CRASH_TIMES } from './crash-programs.ts';
import type { Crash, CrashFigures } from './crashes.ts';

/** The figures as a table in Markdown: the least, the median and the greatest, from the kill and from the kubelet's report. */
export function crashTable(figures: readonly CrashFigures[]): string {
  const titles = [...new Set(figures.map(({ title }) => title))];
  const header = [
    'kill -9 of the leader: to the next one’s first work',
    ...CRASH_TIMES.flatMap(({ leaseDuration }) => [
      `Lease of ${leaseDuration} s`,
      '... after the kubelet’s report',
    ]),
  ];
  const rows = titles.map((title) => [
    title,
    ...CRASH_TIMES.flatMap((times) => {
      const { crashes = [] } = figures.find((one) => one.title === title && one.times === times) ?? {};
      return [
        spread(crashes.map(({ killedAt, workedAt }) => workedAt - killedAt)),
        spread(crashes.flatMap(afterReport)),
      ];
    }),
  ]);
  const reports = figures.flatMap(({ crashes }) =>
    crashes.flatMap(({ killedAt, reportedAt }) => (reportedAt === undefined ? [] : [reportedAt - killedAt])),
  );
  const table = [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `${table.join('\n')}\n\nThe kubelet reported the end of a container ${spread(reports)} after the kill.`;
}

function afterReport({ reportedAt, workedAt }: Crash): readonly number[] {
  return reportedAt === undefined ? [] : [workedAt - reportedAt];
}

function spread(values: readonly number[]): string {
  if (values.length === 0) return '';
  const { p50, max } = distributionOf(values);
  return [Math.min(...values), p50, max].map(describeMs).join(' / ');
}
