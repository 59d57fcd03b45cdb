import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { CandidateSource } from '../../src/election/model.ts';
import { defaultSettings, makeCandidate, makeNow } from '../support/election-builders.ts';
import { describeActions } from '../support/sim-election.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject } from './make-objects.ts';

const KEY = 'kube-system/scheduler';
const HOUR = 3_600_000;

const makeTwin = (source: CandidateSource, renewedAt: number) =>
  makeCandidate('a')
    .with({ source, uid: `${source}-a` })
    .renewedAt(renewedAt)
    .build();

/** The records of two candidates named a, first seen at 0, whose last renewals were this long before. */
function recordsOf({
  native,
  custom,
}: {
  readonly native: number;
  readonly custom: number;
}): ElectionRecords {
  const records = new ElectionRecords(defaultSettings);
  records.seeCandidate(makeTwin('native', native), makeNow(0));
  records.seeCandidate(makeTwin('custom', custom), makeNow(0));
  return records;
}

const counting = (records: ElectionRecords) =>
  records.gather(KEY).candidates.map(({ candidate }) => candidate.source);

describe('of two candidates with the same name (rule 13)', () => {
  test.each([
    { name: 'the native one, if both renewed at one moment', native: -1000, custom: -1000, want: 'native' },
    { name: 'the custom one, if that has renewed later', native: -2 * HOUR, custom: -1000, want: 'custom' },
    { name: 'the native one, if that has renewed later', native: -1000, custom: -2000, want: 'native' },
  ])('counts $name', ({ native, custom, want }) => {
    expect(counting(recordsOf({ native, custom }))).toEqual([want]);
  });

  test('counts the one with the later renewTime, if its clock is ahead of ours', () => {
    expect(counting(recordsOf({ native: 2 * HOUR, custom: 2 * HOUR + 1 }))).toEqual(['custom']);
  });

  test('counts the one with the later renewTime, although the other one appears later, by a clock that is ahead of ours', () => {
    const records = new ElectionRecords(defaultSettings);
    records.seeCandidate(makeTwin('custom', 2 * HOUR), makeNow(0));
    records.seeCandidate(makeTwin('custom', 2 * HOUR + 1000), makeNow(1000));
    records.seeCandidate(makeTwin('native', HOUR), makeNow(14_000));
    expect(counting(records)).toEqual(['custom']);
    // It is alive, and its clock was set back.
    records.seeCandidate(makeTwin('native', HOUR + 1000), makeNow(15_000));
    expect(counting(records)).toEqual(['native']);
  });

  test('counts the one with the later renewTime, although it looks older at first sight, by a clock that is behind ours', () => {
    const records = new ElectionRecords(defaultSettings);
    records.seeCandidate(makeTwin('custom', -HOUR / 60), makeNow(0));
    records.seeCandidate(makeTwin('custom', 1000 - HOUR / 60), makeNow(1000));
    records.seeCandidate(makeTwin('native', 20_000 - HOUR / 60), makeNow(21_000));
    expect(counting(records)).toEqual(['native']);
    // The native one is dead, and the clock of the live one was set back.
    records.seeCandidate(makeTwin('custom', -HOUR), makeNow(30_000));
    expect(counting(records)).toEqual(['custom']);
  });

  test.each([
    { name: 'a later list', isNew: true, want: ['custom'] },
    { name: 'the first list', isNew: false, want: ['native'] },
  ])('counts one with an earlier renewTime that appears last: in $name', ({ isNew, want }) => {
    const records = new ElectionRecords(defaultSettings);
    records.seeCandidate(makeTwin('native', 0), makeNow(0));
    records.seeCandidate(makeTwin('native', 7 * 60_000), makeNow(1000));
    records.seeCandidate(makeTwin('custom', 60_000), makeNow(72_000), isNew);
    expect(counting(records)).toEqual(want);
    // The native one is alive as well, and the clock of its machine is ahead.
    records.seeCandidate(makeTwin('native', 8 * 60_000), makeNow(73_000));
    expect(counting(records)).toEqual(['native']);
  });

  test('counts the one that answers, as soon as it does', () => {
    const records = recordsOf({ native: -1000, custom: -60_000 });
    records.seeCandidate(makeTwin('custom', 500), makeNow(500));
    expect(counting(records)).toEqual(['custom']);
    records.seeCandidate(makeTwin('native', 700), makeNow(700));
    expect(counting(records)).toEqual(['native']);
  });

  test('counts the remaining one', () => {
    const records = recordsOf({ native: -1000, custom: -60_000 });
    records.dropCandidate(makeTwin('native', -1000), makeNow(100));
    expect(counting(records)).toEqual(['custom']);
    expect(records.gather(KEY).twins).toBeUndefined();
    expect(records.hasTwin(KEY, 'a')).toBe(false);
  });

  test('both are pinged, each in its own time', () => {
    const input = recordsOf({ native: -60_000, custom: -120_000 }).gather(KEY);
    const { actions } = decideElection(input, makeNow(1000));
    expect(describeActions(actions)).toBe('ping a, a (election)');
    expect(actions.map((action) => 'source' in action && action.source)).toEqual(['native', 'custom']);
    expect(new Set(actions.map((action) => 'pingTime' in action && action.pingTime)).size).toBe(2);
  });
});

describe('a program that moves from native candidates to our own group (rule 13)', () => {
  test('is elected by its live candidate, and its dead one is deleted', async () => {
    const world = new ControllerWorld();
    world.api.hasCustomCandidates = true;
    await world.start();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -HOUR / 4 }));
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(20_000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
    for (let minute = 0; minute < 150; minute++) {
      world.change('customcandidates', 'default/a', { renewTime: world.wallText });
      const { holderIdentity } = world.leaseSpec();
      if (holderIdentity === 'a') world.change('leases', 'default/scheduler', { renewTime: world.wallText });
      await world.clock.advance(60_000);
    }
    expect(world.api.store.list('leasecandidates')).toEqual([]);
    expect(world.api.store.list('customcandidates')).toHaveLength(1);
  });
});
