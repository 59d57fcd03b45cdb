import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { surveyElection } from '../../src/election/view.ts';
import { seeCandidateFirst, seeLeaseFirst } from '../../src/inspection/first-sight.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow, wallAt } from '../support/election-builders.ts';

const NOW = makeNow(100_000);
const KEY = 'kube-system/scheduler';

describe('a Lease at first sight', () => {
  test.each([
    { name: 'renewed lately', renewedAt: 97_000, want: 'held' },
    { name: 'not renewed for its duration', renewedAt: 89_000, want: 'vacant' },
    { name: 'renewed in the future, by a clock that is ahead', renewedAt: 900_000, want: 'held' },
  ])('is $want when $name', ({ renewedAt, want }) => {
    const records = new ElectionRecords(defaultSettings);
    seeLeaseFirst(records, makeLease('a').renewedAt(renewedAt).build(), NOW);
    expect(surveyElection(records.gather(KEY), NOW).tenure.kind).toBe(want);
  });
});

describe('a candidate at first sight', () => {
  test.each([
    { name: 'renewed just now', renewedAt: 98_000, pingedAt: undefined, want: 'Live' },
    { name: 'renewed a while ago', renewedAt: 60_000, pingedAt: undefined, want: 'Idle' },
    { name: 'answered its last ping', renewedAt: 60_000, pingedAt: 59_000, want: 'Idle' },
    { name: 'pinged a moment ago', renewedAt: 60_000, pingedAt: 98_000, want: 'Awaiting' },
    {
      name: 'pinged, and silent for longer than an election lasts',
      renewedAt: 60_000,
      pingedAt: 90_000,
      want: 'Unresponsive',
    },
    {
      name: 'not renewed for half an hour',
      renewedAt: 100_000 - 31 * 60_000,
      pingedAt: undefined,
      want: 'Expired',
    },
  ])('is $want when $name', ({ renewedAt, pingedAt, want }) => {
    const records = new ElectionRecords(defaultSettings);
    const pingTime = pingedAt === undefined ? undefined : wallAt(pingedAt);
    seeCandidateFirst(
      records,
      makeCandidate('a').renewedAt(renewedAt).with({ pingTime }).build(),
      NOW,
      defaultSettings,
    );
    expect(surveyElection(records.gather(KEY), NOW).standings.map(({ state }) => state)).toEqual([want]);
  });
});
