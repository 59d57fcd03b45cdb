import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { surveyElection } from '../../src/election/view.ts';
import {
  type ClusterClock,
  createClusterClock,
  recordFirstLease,
  recordSeenCandidate,
} from '../../src/inspection/elections.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import {
  defaultSettings,
  makeCandidate,
  makeLease,
  makeNow,
  WALL_START,
  wallAt,
} from '../support/election-builders.ts';

const NOW = makeNow(100_000);

const KEY = 'kube-system/scheduler';

describe('a Lease at first sight', () => {
  test.each([
    { name: 'renewed lately', renewedAt: 97_000, want: 'held' },
    { name: 'not renewed for its duration', renewedAt: 89_000, want: 'vacant' },
    { name: 'renewed in the future, by a clock that is ahead', renewedAt: 900_000, want: 'held' },
  ])('is $want when $name', ({ renewedAt, want }) => {
    const records = new ElectionRecords(defaultSettings);
    recordFirstLease(records, makeLease('a').renewedAt(renewedAt).build(), NOW);
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
    recordSeenCandidate(
      records,
      makeCandidate('a').renewedAt(renewedAt).with({ pingTime }).build(),
      NOW,
      defaultSettings,
    );
    expect(surveyElection(records.gather(KEY), NOW).standings.map(({ state }) => state)).toEqual([want]);
  });
});

const SECOND = 1_000_000n;

function heard(date: string, tookSeconds = 0n): ClusterClock {
  const clock = createClusterClock({ ...systemClock, wallTime: () => WALL_START });
  clock.hear({ date, sentAt: WALL_START - tookSeconds * SECOND, answeredAt: WALL_START });
  return clock;
}

describe("a cluster's clock", () => {
  test.each([
    { name: 'both agree', date: 'Thu, 01 Jan 2026 00:00:00 GMT', want: 0n },
    { name: 'the server is a little ahead', date: 'Thu, 01 Jan 2026 00:00:02 GMT', want: 0n },
    {
      name: 'the server is far ahead',
      date: 'Thu, 01 Jan 2026 00:01:00 GMT',
      want: 60n * SECOND + SECOND / 2n,
    },
    {
      name: 'the server is far behind',
      date: 'Wed, 31 Dec 2025 23:59:00 GMT',
      want: -60n * SECOND + SECOND / 2n,
    },
    { name: 'the answer was long in coming', date: 'Wed, 31 Dec 2025 23:59:52 GMT', took: 8n, want: 0n },
    { name: 'the date is none', date: 'yesterday', want: 0n },
  ])('is off ours by $want microseconds when $name', ({ date, took, want }) => {
    expect(heard(date, took).wallTime() - WALL_START).toBe(want);
  });

  test('is ours until the server has sent its time', () => {
    const clock = createClusterClock({ ...systemClock, wallTime: () => WALL_START });
    expect({ time: clock.wallTime(), ahead: clock.serverAheadMs }).toEqual({
      time: WALL_START,
      ahead: undefined,
    });
  });
});
