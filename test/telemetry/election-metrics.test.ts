import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import {
  type ElectionsSurvey,
  surveyEach,
  surveyElections,
  type UnledLease,
} from '../../src/controller/elections-survey.ts';
import { registerLeaseMetrics, registerSurveyMetrics } from '../../src/telemetry/election-metrics.ts';
import type { ScrapeSources } from '../../src/telemetry/instruments.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOTHING = await surveyElections([]);

function makeSurveyed() {
  const clock = new VirtualClock();
  const registry = new Registry();
  const sources: ScrapeSources = {};
  registerSurveyMetrics(registry, sources, clock);
  const world: { survey: ElectionsSurvey; asked: number; told: unknown } = {
    survey: NOTHING,
    asked: 0,
    told: undefined,
  };
  return {
    clock,
    registry,
    world,
    unled: (...unled: readonly UnledLease[]) => {
      world.survey = { ...world.survey, unled };
    },
    watch: () =>
      Object.assign(sources, {
        survey: (known: unknown) => {
          world.asked++;
          world.told = known;
          return Promise.resolve(world.survey);
        },
      }),
    async measure(series: string): Promise<number | undefined> {
      const text = await registry.metrics();
      const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `));
      return line === undefined ? undefined : Number(line.slice(series.length + 1));
    },
  };
}

const OLDEST = 'cle_oldest_lease_without_leader_seconds';

describe('the gauges over all Leases', () => {
  test('have no candidates before the first survey', async () => {
    const { measure } = makeSurveyed();
    expect(await measure('cle_leases')).toBe(0);
    expect(await measure('cle_candidates{state="Live"}')).toBeUndefined();
  });

  test('use one survey per scrape, which knows the previous one', async () => {
    const { world, watch, measure, clock } = makeSurveyed();
    world.survey = {
      leases: 7,
      unled: [{ key: 'a/b', since: 0 }],
      withoutSuccessor: 2,
      redundancy: new Map([['uid-of-a', 0]]),
      reasons: new Map([['StrategyConflict', 4]]),
      candidates: { ...NOTHING.candidates, Live: 3, Idle: 11 },
    };
    watch();
    expect(await measure('cle_leases')).toBe(7);
    expect(await measure('cle_leases_without_leader')).toBe(1);
    expect(await measure('cle_leases_without_successor')).toBe(2);
    expect(await measure('cle_leases_by_reason{reason="StrategyConflict"}')).toBe(4);
    expect(await measure('cle_leases_by_reason{reason="LeaderOptimal"}')).toBe(0);
    expect(await measure('cle_candidates{state="Live"}')).toBe(3);
    expect(await measure('cle_candidates{state="Idle"}')).toBe(11);
    expect(await measure('cle_candidates{state="Expired"}')).toBe(0);
    expect(world.asked).toBe(1);
    expect(world.told).toBeUndefined();
    const { redundancy } = world.survey;
    world.survey = { ...world.survey, leases: 8 };
    await clock.advance(1000);
    expect(await measure('cle_leases')).toBe(8);
    expect(world.asked).toBe(2);
    expect(world.told).toBe(redundancy);
  });
});

describe('the age of the oldest Lease without leader', () => {
  test('counts from when it lost its leader, if that was seen', async () => {
    const { unled, watch, measure, clock } = makeSurveyed();
    watch();
    await clock.advance(60_000);
    expect(await measure(OLDEST)).toBe(0);
    unled({ key: 'a/young', since: 59_000 }, { key: 'a/old', since: 20_000 });
    await clock.advance(1000);
    expect(await measure(OLDEST)).toBe(41);
    unled({ key: 'a/young', since: 59_000 });
    await clock.advance(1000);
    expect(await measure(OLDEST)).toBe(3);
    unled();
    await clock.advance(1000);
    expect(await measure(OLDEST)).toBe(0);
  });

  test('counts from when it was first found, if the loss was not seen, and again after it had a leader', async () => {
    const { unled, watch, measure, clock } = makeSurveyed();
    watch();
    unled({ key: 'a/missing', since: undefined });
    expect(await measure(OLDEST)).toBe(0);
    await clock.advance(30_000);
    expect(await measure(OLDEST)).toBe(30);
    unled();
    await clock.advance(1000);
    expect(await measure(OLDEST)).toBe(0);
    unled({ key: 'a/missing', since: undefined });
    await clock.advance(5000);
    expect(await measure(OLDEST)).toBe(0);
  });
});

function makeMeasured() {
  const registry = new Registry();
  const records = new ElectionRecords(defaultSettings);
  registerLeaseMetrics(registry, () => surveyEach(records, () => 'LeaderOptimal', makeNow(1000)));
  return {
    records,
    async samples(): Promise<string[]> {
      const lines = (await registry.metrics()).split('\n');
      return lines.filter((line) => line !== '' && !line.startsWith('#'));
    },
  };
}

describe('the series of single Leases', () => {
  test('contain the leader of each Lease, and the number of its candidates by state', async () => {
    const { records, samples } = makeMeasured();
    const [one, two] = [makeCandidate('one').build(), makeCandidate('two').build()];
    records.seeLease('kube-system/scheduler', makeLease('one').preferring('three').build(), makeNow(0));
    records.seeCandidate(one, makeNow(0));
    records.seeCandidate({ ...two, name: 'three' }, makeNow(0));
    records.seeCandidate({ ...two, leaseName: 'other' }, makeNow(0));
    const scheduler = 'lease_namespace="kube-system",lease="scheduler"';
    const other = 'lease_namespace="kube-system",lease="other"';
    const led = 'holder="one",preferred_holder="three",strategy="OldestEmulationVersion"';
    const unled = 'holder="",preferred_holder="",strategy=""';
    expect(await samples()).toEqual([
      `cle_lease_info{${scheduler},${led},reason="LeaderOptimal"} 1`,
      `cle_lease_info{${other},${unled},reason="LeaderOptimal"} 1`,
      `cle_lease_has_leader{${scheduler}} 1`,
      `cle_lease_has_leader{${other}} 0`,
      `cle_lease_candidates{${scheduler},state="Live"} 1`,
      `cle_lease_candidates{${scheduler},state="Idle"} 1`,
      `cle_lease_candidates{${other},state="Idle"} 1`,
    ]);
  });

  test('disappear with the candidates of a Lease', async () => {
    const { records, samples } = makeMeasured();
    const candidate = makeCandidate('one').build();
    records.seeCandidate(candidate, makeNow(0));
    expect(await samples()).not.toEqual([]);
    records.dropCandidate(candidate, makeNow(0));
    expect(await samples()).toEqual([]);
  });
});
