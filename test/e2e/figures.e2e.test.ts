import { beforeAll, describe, expect, it } from 'vitest';
import { type Figures, measure, type Scale } from './figures/figures.ts';
import type { HandOvers } from './figures/scenarios.ts';
import { distributionOf } from './figures/statistics.ts';
import { toMarkdown } from './figures/table.ts';
import { writeFigures } from './figures/written-figures.ts';

// Enough for a median that can be trusted. `node bench/figures.ts` measures at full scale.
const leaseCount = 20;
const scale: Scale = { firstElections: [leaseCount], handOvers: [leaseCount] };

describe('this controller beside the built-in one, measured in the same run', () => {
  let builtIn: Figures;
  let ours: Figures;

  beforeAll(async () => {
    builtIn = await measure('built-in', scale);
    ours = await measure('this controller', scale);
    process.stdout.write(`\n${toMarkdown([builtIn, ours])}\n\n`);
    if (process.env['CLE_WRITE_FIGURES'] === '1') await writeFigures([builtIn, ours]);
  });

  function handOvers({ handOvers: measured }: Figures): HandOvers {
    const found = measured.get(leaseCount);
    if (!found) throw new Error('not measured');
    return found;
  }

  it('fills Leases sooner after they expire, as half of them go', () => {
    const [theirs, own] = [builtIn, ours].map(
      (each) => distributionOf(handOvers(each).afterExpiry.waits).p50,
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
  });

  it('fills Leases sooner after a clean release, as half of them go', () => {
    const [theirs, own] = [builtIn, ours].map(
      (each) => distributionOf(handOvers(each).afterRelease.waits).p50,
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
  });

  it('makes fewer API calls per election, whatever its cause', () => {
    for (const cause of ['afterExpiry', 'afterRelease'] as const) {
      const { callsPerElection } = handOvers(ours)[cause];
      // No call at all would be a count that does not work.
      expect(callsPerElection).toBeGreaterThanOrEqual(1);
      expect(callsPerElection).toBeLessThan(handOvers(builtIn)[cause].callsPerElection);
    }
  });

  it('leaves no Lease without a leader', () => {
    const { afterExpiry, afterRelease, afterWithdrawal, untilPreferred, afterYielding } = handOvers(ours);
    const waits = [
      ...(ours.firstElections.get(leaseCount) ?? []),
      ...afterExpiry.waits,
      ...afterRelease.waits,
      ...afterWithdrawal.waits,
      ...untilPreferred,
      ...afterYielding,
    ];
    expect(waits).toHaveLength(6 * leaseCount);
    expect(waits.filter((wait) => !Number.isFinite(wait))).toEqual([]);
  });

  it('never gives a Lease away before its expiry, nor to two at once', () => {
    const { afterExpiry, afterYielding, overlaps } = handOvers(ours);
    expect([...afterExpiry.waits, ...afterYielding].filter((wait) => wait < 0)).toEqual([]);
    expect(overlaps).toEqual([]);
  });
});
