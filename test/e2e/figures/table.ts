import type { CrowdedLease, Releases } from './crowded-lease.ts';
import type { Figures } from './figures.ts';
import type { FirstStart } from './first-start.ts';
import type { MassDeath } from './mass-death.ts';
import type { HandOvers } from './scenarios.ts';
import { distributionOf } from './statistics.ts';

/** The cells of a row for one run of a scenario. */
type Row<T> = readonly [what: string, cell: (measured: T) => string];

/** Returns the measurements of all contenders as a table in Markdown. */
export function toMarkdown(contenders: readonly Figures[]): string {
  const header = ['what', ...contenders.map(({ contender }) => contender)];
  const rows = [
    ...rowsOf(
      contenders,
      ({ firstElections }) => firstElections,
      ({ leases }) => [
        [
          `first election, ${leases} Leases x 3 candidates created at once`,
          ({ waits }) => describeWaits(waits),
        ],
      ],
    ),
    ...rowsOf(contenders, ({ firstStarts }) => firstStarts, firstStartRows),
    ...rowsOf(contenders, ({ handOvers }) => handOvers, handOverRows),
    ...rowsOf(contenders, ({ massDeaths }) => massDeaths, massDeathRows),
    ...rowsOf(contenders, ({ crowdedLeases }) => crowdedLeases, crowdedLeaseRows),
  ];
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The rows of one scenario, run after run. Every contender has had the same runs. */
function rowsOf<T>(
  contenders: readonly Figures[],
  runsOf: (figures: Figures) => readonly T[],
  describe: (run: T) => readonly Row<T>[],
): readonly (readonly string[])[] {
  const [first] = contenders;
  if (first === undefined) throw new RangeError('nothing was measured');
  return runsOf(first).flatMap((run, index) =>
    describe(run).map(([what, cell]) => [
      what,
      ...contenders.map((figures) => {
        const measured = runsOf(figures)[index];
        return measured === undefined ? '' : cell(measured);
      }),
    ]),
  );
}

function firstStartRows({ leases, candidates }: FirstStart): readonly Row<FirstStart>[] {
  const scale = `${leases} Leases x ${candidates} candidates that arrive over 2 s`;
  return [
    [
      `first start, from the first candidate’s creation until the best one leads, ${scale}`,
      ({ untilBestLeads }) => describeWaits(untilBestLeads),
    ],
    [`... writes to a Lease until then, ${scale}`, ({ writes }) => describeCounts(writes)],
    [`... how often a holder was told to yield until then, ${scale}`, ({ yields }) => describeCounts(yields)],
  ];
}

function handOverRows({ leases }: HandOvers): readonly Row<HandOvers>[] {
  const rows: readonly Row<HandOvers>[] = [
    ['from a dead holder’s expiry to the new holder', ({ afterExpiry }) => describeWaits(afterExpiry.waits)],
    [
      'from the clean release by a program that ends to the new holder',
      ({ afterRelease }) => describeWaits(afterRelease.waits),
    ],
    [
      '... where its LeaseCandidate is deleted as well',
      ({ afterWithdrawal }) => describeWaits(afterWithdrawal.waits),
    ],
    [
      'from a better candidate’s appearance to its being preferred',
      ({ untilPreferred }) => describeWaits(untilPreferred),
    ],
    [
      'from the expiry of the Lease that is yielded to its new holder',
      ({ afterYielding }) => describeWaits(afterYielding),
    ],
    ['API calls per election after an expiry', ({ afterExpiry }) => afterExpiry.callsPerElection.toFixed(1)],
    [
      'API calls per election after a release',
      ({ afterRelease }) => afterRelease.callsPerElection.toFixed(1),
    ],
    [
      '... where its LeaseCandidate is deleted as well',
      ({ afterWithdrawal }) => afterWithdrawal.callsPerElection.toFixed(1),
    ],
    [
      'acks forced out of candidates per election after an expiry',
      ({ afterExpiry }) => afterExpiry.acksPerElection.toFixed(1),
    ],
    [
      'API calls per Lease and minute beside a dead best candidate',
      ({ callsBesideDeadPerMinute }) => callsBesideDeadPerMinute.toFixed(1),
    ],
    ['Leases led by two at once', ({ overlaps }) => String(new Set(overlaps.map(({ lease }) => lease)).size)],
  ];
  return rows.map(([what, cell]) => [`${what}, ${leases} Leases x 3 candidates`, cell]);
}

function massDeathRows({ leases, candidates, renewEveryMs }: MassDeath): readonly Row<MassDeath>[] {
  const scale = `${leases} Leases x ${candidates} candidates, renewed every ${renewEveryMs / 1000} s`;
  return [
    [
      `all holders die within 10 s: from expiry to the new holder, ${scale}`,
      ({ afterExpiry }) => describeWaits(afterExpiry.waits),
    ],
    [`... API calls per election, ${scale}`, ({ afterExpiry }) => afterExpiry.callsPerElection.toFixed(1)],
    [
      `... acks forced out of candidates per election, ${scale}`,
      ({ afterExpiry }) => afterExpiry.acksPerElection.toFixed(1),
    ],
  ];
}

function crowdedLeaseRows({ silent, others }: CrowdedLease): readonly Row<CrowdedLease>[] {
  const rows: readonly Row<Releases>[] = [
    ['from a clean release to the new holder', ({ waits }) => describeWaits(waits)],
    ['... API calls per second', ({ callsPerSecond }) => callsPerSecond.toFixed(0)],
    ['... memory (RSS) of the coordinator’s process', ({ usage }) => describeMebibytes(usage.maxRssBytes)],
    ['... CPUs that it keeps busy', ({ usage }) => usage.cpus.toFixed(2)],
    ['... lines that it logs per second', ({ logged }) => logged.lines.toFixed(1)],
    ['... kB that it logs per second', ({ logged }) => (logged.bytes / 1000).toFixed(1)],
  ];
  const settings = [
    ['by themselves', ({ alone }: CrowdedLease) => alone],
    [`beside a Lease with ${silent} silent candidates`, ({ beside }: CrowdedLease) => beside],
  ] as const;
  return rows.flatMap(([what, cell]) =>
    settings.map(
      ([setting, releasesOf]): Row<CrowdedLease> => [
        `${what}, ${others} Leases x 3 candidates ${setting}`,
        (measured) => cell(releasesOf(measured)),
      ],
    ),
  );
}

function describeWaits(waits: readonly number[]): string {
  if (waits.length === 0) return '';
  const { p50, p99, max } = distributionOf(waits);
  const text = `p50 ${describeMs(p50)}, p99 ${describeMs(p99)}, max ${describeMs(max)}`;
  const endless = waits.filter((wait) => !Number.isFinite(wait)).length;
  return endless === 0 ? text : `${text}; ${endless} of ${waits.length} never`;
}

function describeCounts(counts: readonly number[]): string {
  if (counts.length === 0) return '';
  const mean = counts.reduce((sum, count) => sum + count, 0) / counts.length;
  return `mean ${mean.toFixed(1)}, max ${Math.max(...counts)}`;
}

/** Formats a duration with useful digits only. */
export function describeMs(ms: number): string {
  if (!Number.isFinite(ms)) return 'never';
  return Math.abs(ms) < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function describeMebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`;
}
