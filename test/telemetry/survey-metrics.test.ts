import { Registry } from 'prom-client';
import { describe, expect, test } from 'vitest';
import {
  type ElectionsSurvey,
  surveyElections,
  type UnledLease,
} from '../../src/controller/elections-survey.ts';
import { createSurveyMetrics } from '../../src/telemetry/survey-metrics.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOTHING = await surveyElections([]);

function makeSurveyed() {
  const clock = new VirtualClock();
  const registry = new Registry();
  const metrics = createSurveyMetrics(registry, clock);
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
      metrics.watch((known) => {
        world.asked++;
        world.told = known;
        return Promise.resolve(world.survey);
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
  test('say nothing of candidates before there is anybody to ask', async () => {
    const { measure } = makeSurveyed();
    expect(await measure('cle_leases')).toBe(0);
    expect(await measure('cle_candidates{state="Live"}')).toBeUndefined();
  });

  test('are read off one survey each time that metrics are collected, which knows the one before', async () => {
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
  test('counts from when it lost its leader, where that was seen', async () => {
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

  test('counts from when it was first found so, where it was not, and anew once it was led', async () => {
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
