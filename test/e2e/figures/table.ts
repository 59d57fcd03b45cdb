import type { Figures } from './figures.ts';
import type { HandOvers } from './scenarios.ts';
import { distributionOf } from './statistics.ts';

/** What was measured of each contender, side by side, as a table in Markdown. */
export function toMarkdown(contenders: readonly Figures[]): string {
  const [first] = contenders;
  if (first === undefined) throw new RangeError('nothing was measured');
  const rows: string[][] = [['what', ...contenders.map(({ contender }) => contender)]];
  const add = (what: string, cell: (figures: Figures) => string) =>
    rows.push([what, ...contenders.map(cell)]);

  for (const count of first.firstElections.keys()) {
    add(`first election, ${count} Leases x 3 candidates created at once`, ({ firstElections }) =>
      describeWaits(firstElections.get(count) ?? []),
    );
  }
  for (const count of first.handOvers.keys()) {
    for (const [what, cell] of handOverRows) {
      add(`${what}, ${count} Leases x 3 candidates`, ({ handOvers }) => {
        const measured = handOvers.get(count);
        return measured ? cell(measured) : '';
      });
    }
  }
  if (first.massDeath) {
    const { leases, candidates } = first.massDeath;
    const what = `${leases} Leases x ${candidates} candidates in one namespace, all leaders die`;
    add(`${what}: without a leader 60 s later`, ({ massDeath }) =>
      String(massDeath?.withoutLeaderAfter60s ?? ''),
    );
    add(`${what}: without a leader 120 s later`, ({ massDeath }) =>
      String(massDeath?.withoutLeaderAfter120s ?? ''),
    );
    add(`${what}: from expiry to new holder`, ({ massDeath }) =>
      massDeath ? describeWaits(massDeath.afterExpiry) : '',
    );
  }
  const [header = [], ...body] = rows;
  return [header, header.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const handOverRows: readonly (readonly [string, (measured: HandOvers) => string])[] = [
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
  ['API calls per election after a release', ({ afterRelease }) => afterRelease.callsPerElection.toFixed(1)],
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

function describeWaits(waits: readonly number[]): string {
  if (waits.length === 0) return '';
  const { p50, p99, max } = distributionOf(waits);
  return `p50 ${describeMs(p50)}, p99 ${describeMs(p99)}, max ${describeMs(max)}`;
}

function describeMs(ms: number): string {
  if (!Number.isFinite(ms)) return 'never';
  return Math.abs(ms) < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
