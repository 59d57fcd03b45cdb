import { beforeAll, describe, expect, test } from 'vitest';
import type { CrowdedLease } from './figures/crowded-lease.ts';
import { type Figures, measure, type Scale } from './figures/figures.ts';
import type { Elections, HandOvers } from './figures/scenarios.ts';
import { distributionOf } from './figures/statistics.ts';
import { toMarkdown } from './figures/table.ts';
import { writeTable } from './figures/written-figures.ts';

// Enough for a reliable median. `node bench/figures.ts` measures at full scale.
const leaseCount = 20;
const scale: Scale = {
  firstElections: [leaseCount],
  handOvers: [leaseCount],
  firstStarts: [{ leases: leaseCount, candidates: 3 }],
  massDeaths: [4_000, 10_000].map((renewEveryMs) => ({ leases: 50, candidates: 5, renewEveryMs })),
  crowdedLeases: [{ silent: 1000, others: 50 }],
  besideEachOther: true,
};

describe('this controller beside the built-in one, measured in the same run', () => {
  let builtIn: Figures;
  let ours: Figures;

  beforeAll(async () => {
    builtIn = await measure('built-in', scale);
    ours = await measure('this controller', scale);
    process.stdout.write(`\n${toMarkdown([builtIn, ours])}\n\n`);
    if (process.env['CLE_WRITE_FIGURES'] === '1')
      await writeTable('coordinators', toMarkdown([builtIn, ours]));
  });

  function handOvers({ handOvers: [measured] }: Figures): HandOvers {
    if (!measured) throw new Error('not measured');
    return measured;
  }

  test('gives half of the Leases a new holder sooner after they expire', () => {
    const [theirs, own] = [builtIn, ours].map(
      (each) => distributionOf(handOvers(each).afterExpiry.waits).p50,
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
  });

  test('gives half of the Leases a new holder sooner after a clean release', () => {
    const [theirs, own] = [builtIn, ours].map(
      (each) => distributionOf(handOvers(each).afterRelease.waits).p50,
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
  });

  test('makes fewer API calls per election, for any cause', () => {
    for (const cause of ['afterExpiry', 'afterRelease'] as const) {
      const { callsPerElection } = handOvers(ours)[cause];
      // A count of 0 would mean that counting does not work.
      expect(callsPerElection).toBeGreaterThanOrEqual(1);
      expect(callsPerElection).toBeLessThan(handOvers(builtIn)[cause].callsPerElection);
    }
  });

  test('leaves no Lease without a leader', () => {
    const { afterExpiry, afterRelease, afterWithdrawal, untilPreferred, afterYielding } = handOvers(ours);
    const waits = [
      ...ours.firstElections.flatMap((run) => run.waits),
      ...afterExpiry.waits,
      ...afterRelease.waits,
      ...afterWithdrawal.waits,
      ...untilPreferred,
      ...afterYielding,
    ];
    expect(waits).toHaveLength(6 * leaseCount);
    expect(waits.filter((wait) => !Number.isFinite(wait))).toEqual([]);
  });

  test('never gives a Lease away before its expiry, or to two at once', () => {
    const { afterExpiry, afterYielding, overlaps } = handOvers(ours);
    expect([...afterExpiry.waits, ...afterYielding].filter((wait) => wait < 0)).toEqual([]);
    expect(overlaps).toEqual([]);
  });

  test('makes the best candidate of a new component lead sooner, for half of the components', () => {
    const [theirs, own] = [builtIn, ours].map(
      ({ firstStarts: [run] }) => distributionOf(run?.untilBestLeads ?? []).p50,
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
  });

  test('writes a new Lease at most once for each candidate that appears, if no holder was asked to yield', () => {
    for (const { candidates, writes, yields } of ours.firstStarts) {
      // A count of 0 would mean that counting does not work.
      expect(Math.min(...writes)).toBeGreaterThanOrEqual(1);
      // On a busy machine, a holder may have read the Lease before the best candidate appeared: then it must be asked
      // to yield.
      const undisturbed = writes.filter((_, index) => yields[index] === 0);
      expect(undisturbed.filter((count) => count > candidates)).toEqual([]);
    }
  });

  test('asks fewer holders of new Leases to yield, and leaves none without a leader, or with two', () => {
    const [theirs, own] = [builtIn, ours].map(({ firstStarts }) =>
      firstStarts.flatMap(({ yields }) => yields).reduce((sum, count) => sum + count, 0),
    );
    expect(own).toBeLessThan(theirs ?? Number.NaN);
    for (const { leases, untilBestLeads, overlaps } of ours.firstStarts) {
      expect(untilBestLeads.filter(Number.isFinite)).toHaveLength(leases);
      expect(overlaps).toEqual([]);
    }
  });

  describe.each([
    { renewals: 'early', run: 0 },
    { renewals: 'late', run: 1 },
  ])('when many holders die at once that renewed $renewals', ({ run }) => {
    function afterExpiry({ massDeaths }: Figures): Elections {
      const measured = massDeaths[run];
      if (!measured) throw new Error('not measured');
      return measured.afterExpiry;
    }

    test('gives the last Lease a new holder sooner than the built-in one gives half of them', () => {
      const own = distributionOf(afterExpiry(ours).waits).max;
      expect(own).toBeLessThan(distributionOf(afterExpiry(builtIn).waits).p50);
    });

    test('gives none of them a new holder before its expiry', () => {
      expect(afterExpiry(ours).waits.filter((wait) => wait < 0)).toEqual([]);
    });

    test('makes fewer API calls, and needs fewer acks from candidates', () => {
      expect(afterExpiry(ours).callsPerElection).toBeLessThan(afterExpiry(builtIn).callsPerElection);
      expect(afterExpiry(ours).acksPerElection).toBeLessThan(afterExpiry(builtIn).acksPerElection);
    });
  });

  describe('beside a Lease with many silent candidates', () => {
    function crowded({ crowdedLeases: [measured] }: Figures): CrowdedLease {
      if (!measured) throw new Error('not measured');
      return measured;
    }

    test('gives the last of the other Leases a new holder sooner than the built-in one gives half of them without the crowd', () => {
      const own = distributionOf(crowded(ours).beside.waits).max;
      expect(own).toBeLessThan(distributionOf(crowded(builtIn).alone.waits).p50);
    });

    test('keeps its log as short as without the crowd', () => {
      const { alone, beside } = crowded(ours);
      expect(beside.logged.lines).toBeLessThan(2 * alone.logged.lines);
      expect(beside.logged.bytes).toBeLessThan(2 * alone.logged.bytes);
    });
  });
});
