import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { CongestedWorld, type CongestionOptions } from './congested-world.ts';
import type { SimCrowd } from './sim-crowd.ts';

/** The scale of the test. At scale 1: 100,000 candidates of one Lease, and 10,000 Leases at once. */
const SCALE = Number(process.env['CLE_SIM_SCALE'] ?? 0.05);
const CROWD = 100_000 * SCALE;
const NEW_LEASES = 10_000 * SCALE;
const OTHERS = 100;
const STEADY = { leases: OTHERS, requestsPerSecond: 1000, renewEveryMs: 4000 };
/** The frequencies at which busy candidates of a crowded Lease act. */
const BUSY = { candidates: 100, times: 20_000, everyMs: 1 };
/** Maximum extra delay of another Lease's new leader because of its neighbour, in milliseconds. */
const MAX_DELAY_MS = 100;
/**
 * Budget of decisions about a Lease: this many per candidate and second of virtual time, with one second in advance.
 */
const DECIDED_CANDIDATES_PER_SECOND = 10_000;

/** Number of decisions about a Lease, and the total number of candidates in them. */
function countDecisions(key: string) {
  const original = ElectionRecords.prototype.gather;
  const counts = { decisions: 0, candidates: 0 };
  const spy = vi.spyOn(ElectionRecords.prototype, 'gather').mockImplementation(function (
    this: ElectionRecords,
    gathered: string,
  ) {
    const input = original.call(this, gathered);
    if (gathered === key) {
      counts.decisions++;
      counts.candidates += input.candidates.length;
    }
    return input;
  });
  onTestFinished(() => spy.mockRestore());
  return counts;
}

/** Returns the world after 100 leaders have stopped within about 20 s, beside a neighbour that `disturb` makes busy. */
async function elect(
  options: Partial<CongestionOptions>,
  disturb?: (world: CongestedWorld) => void,
  withinMs = 20_000,
) {
  const congested = new CongestedWorld({ ...STEADY, ...options });
  await congested.start(1000);
  disturb?.(congested);
  await congested.endLeaders('stop', withinMs);
  await congested.runUntilLed(30_000);
  return congested;
}

/** Checks that no other Lease was affected, and that memory and timers are in proportion to objects and requests. */
function expectUnnoticed(beside: CongestedWorld, alone: CongestedWorld, leases: number, candidates: number) {
  const delays = beside.vacancies.map((ms, index) => ms - (alone.vacancies[index] ?? Number.NaN));
  const { entries, closed, memories } = beside.controller.kept;
  expect([...alone.world.violations, ...beside.world.violations]).toEqual([]);
  expect(Math.max(...delays), beside.report).toBeLessThan(MAX_DELAY_MS);
  // The coordinator's own lock is a Lease, too.
  expect(Math.max(entries, memories)).toBeLessThanOrEqual(OTHERS + leases + 1);
  expect(closed).toBeLessThanOrEqual(6 * OTHERS + leases + candidates);
  // One timer for each Lease, and a few dozen for watches, deadlines and requests in flight.
  expect(beside.world.clock.pendingTimers).toBeLessThan(OTHERS + leases + 100);
}

describe(`a Lease with ${CROWD} candidates`, () => {
  test.each(['silent', 'answering'])('that are %s delays no election of another Lease', async (how) => {
    const alone = await elect({});
    const decided = countDecisions('default/crowded');
    const beside = await elect({ [how]: CROWD });
    expectUnnoticed(beside, alone, 1, CROWD);
    const seconds = beside.world.clock.now() / 1000 + 1;
    // One decision may exceed the budget, and the start of a watch gathers the Lease, too.
    const most = DECIDED_CANDIDATES_PER_SECOND * seconds + 3 * CROWD;
    expect(decided.candidates).toBeLessThan(most);
  });
});

describe(`${NEW_LEASES} Leases that appear within a second`, () => {
  const options = { requestsPerSecond: Math.max(1000, 10_000 * SCALE) };
  const names = Array.from({ length: NEW_LEASES }, (_, index) => `new-${index}`);
  const appear = ({ world }: CongestedWorld, crowd: SimCrowd) => {
    for (const [index, leaseName] of names.entries()) {
      world.after((1000 * index) / NEW_LEASES, () => {
        for (const name of [`${leaseName}-a`, `${leaseName}-b`])
          crowd.add({ leaseName, name, emulationVersion: '1.35.0', isRunning: true });
      });
    }
  };
  const leaderless = (crowd: SimCrowd) => names.filter((name) => crowd.leaderOf(name) === undefined);

  test('in one namespace delay no election of another one, and all get leaders in the end', async () => {
    const alone = await elect(options);
    const beside = await elect(options, (congested) => appear(congested, congested.noisy));
    expectUnnoticed(beside, alone, NEW_LEASES, 2 * NEW_LEASES);
    expect(leaderless(beside.noisy)).toEqual([]);
  });

  test('delay no election of a Lease of their own namespace that had a leader before', async () => {
    const withinMs = 1500;
    const alone = await elect(options, undefined, withinMs);
    const beside = await elect(options, (congested) => appear(congested, congested.crowd), withinMs);
    expectUnnoticed(beside, alone, NEW_LEASES, 2 * NEW_LEASES);
    await beside.world.run(60_000);
    expect(leaderless(beside.crowd)).toEqual([]);
  });
});

describe('a candidate that renews 1,000 times a second', () => {
  test.each([
    { name: 'and is unchanged', fields: () => ({}) },
    { name: 'with another version each time', fields: (n: number) => ({ binaryVersion: `1.37.${n}` }) },
    { name: 'with another strategy than the others', fields: (n: number) => ({ strategy: `S${n}` }) },
  ])('$name causes no more decisions about its Lease than others can bear', async ({ fields }) => {
    const alone = await elect({});
    const decided = countDecisions('noisy/busy');
    const beside = await elect({}, ({ world, noisy }) => {
      for (let index = 0; index < BUSY.candidates; index++)
        noisy.add({ leaseName: 'busy', name: `busy-${index}`, emulationVersion: '1.35.0', isRunning: true });
      const renew = (n: number) => {
        noisy.renew('busy-0', fields(n));
        if (n < BUSY.times) world.after(BUSY.everyMs, () => renew(n + 1));
      };
      renew(0);
    });
    expectUnnoticed(beside, alone, 1, BUSY.candidates);
    const seconds = beside.world.clock.now() / 1000 + 1;
    expect(decided.candidates).toBeLessThan(DECIDED_CANDIDATES_PER_SECOND * seconds);
  });
});
