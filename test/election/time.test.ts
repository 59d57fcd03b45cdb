import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { observeCandidate, pingTimeFor } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import { earliest, earliestAfter, nowAt } from '../../src/election/model.ts';
import { backoffDelayMs } from '../../src/support/backoff.ts';
import {
  defaultSettings,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  wallAt,
} from '../support/election-builders.ts';
import { describeActions, SimElection } from '../support/sim-election.ts';

const HOUR = 3_600_000;

describe('the pingTime (rule 2)', () => {
  test.each([
    {
      name: 'is the renewTime plus the time it was seen unchanged',
      renewedAt: 0,
      seenAt: 0,
      at: 7000,
      want: wallAt(7000),
    },
    {
      name: 'is in the time of a clock that is an hour slow',
      renewedAt: -HOUR,
      seenAt: 0,
      at: 7000,
      want: wallAt(7000 - HOUR),
    },
    {
      name: 'is in the time of a clock that is an hour fast',
      renewedAt: HOUR,
      seenAt: 0,
      at: 7000,
      want: wallAt(7000 + HOUR),
    },
    {
      name: 'is a microsecond later at the very moment of the renewal',
      renewedAt: 0,
      seenAt: 0,
      at: 0,
      want: wallAt(0) + 1n,
    },
    {
      name: 'counts from when this process saw the renewTime, not from its value',
      renewedAt: 0,
      seenAt: 4000,
      at: 7000,
      want: wallAt(3000),
    },
    {
      name: 'has microseconds, as the monotonic clock has fractions',
      renewedAt: 0,
      seenAt: 0,
      at: 0.25,
      want: wallAt(0) + 250n,
    },
  ])('$name', ({ renewedAt, seenAt, at, want }) => {
    const candidate = makeCandidate('a').renewedAt(renewedAt).build();
    const observation = observeCandidate(undefined, candidate, makeNow(seenAt), defaultSettings);
    expect(pingTimeFor(candidate, observation, makeNow(at))).toBe(want);
  });

  test('is our own time for a candidate that never renewed', () => {
    const candidate = makeCandidate('a').neverRenewed().build();
    const observation = observeCandidate(undefined, candidate, makeNow(0), defaultSettings);
    expect(pingTimeFor(candidate, observation, makeNow(7000))).toBe(wallAt(7000));
  });

  test('differs from the existing one, because the candidate would not notice the same one', () => {
    const candidate = makeCandidate('a')
      .renewedAt(0)
      .with({ pingTime: wallAt(0) + 1n })
      .build();
    const observation = observeCandidate(undefined, candidate, makeNow(0), defaultSettings);
    expect(pingTimeFor(candidate, observation, makeNow(0))).toBe(wallAt(0) + 2n);
  });

  test('never is ahead of the candidate’s clock, and always after its renewTime, whatever that clock shows', () => {
    const instant = fc.double({ min: 0, max: 10 * HOUR, noNaN: true });
    fc.assert(
      fc.property(
        fc.integer({ min: -HOUR, max: HOUR }),
        instant,
        instant,
        instant,
        fc.integer({ min: -HOUR, max: HOUR }),
        (aheadMs, ...rest) => {
          const [a, b, c, jumpMs] = rest;
          const [renewedAt, seenAt, at] = [a, b, c].toSorted((x, y) => x - y) as [number, number, number];
          const candidate = makeCandidate('a')
            .renewedAt(renewedAt + aheadMs)
            .build();
          const observation = observeCandidate(undefined, candidate, makeNow(seenAt), defaultSettings);
          const pingTime = pingTimeFor(candidate, observation, makeNow(at, jumpMs));
          // If no time has passed, one microsecond is enough to be later than the renewTime.
          expect(pingTime).toBeLessThanOrEqual(wallAt(at + aheadMs) + 1n);
          expect(pingTime).toBeGreaterThan(candidate.renewTime ?? 0n);
        },
      ),
    );
  });

  test.each([
    { name: 'an hour behind', clockAheadMs: -HOUR },
    { name: 'right', clockAheadMs: 0 },
    { name: 'an hour ahead', clockAheadMs: HOUR },
  ])('makes a candidate whose clock is $name answer, and lead', ({ clockAheadMs }) => {
    const sim = new SimElection().add('a', { clockAheadMs, lastRenewedMsAgo: 10_000 }).run(30_000);
    expect(sim.violations).toEqual([]);
    expect(sim.believers).toEqual(['a']);
  });
});

describe('age (rule 2)', () => {
  test.each([
    { name: 'by an hour back', jumpMs: -HOUR },
    { name: 'by an hour on', jumpMs: HOUR },
  ])('is not changed when our wall clock jumps $name', ({ jumpMs }) => {
    const course = (jump: number) => {
      const sim = new SimElection().add('a', { lastRenewedMsAgo: 60_000 }).add('b').run(12_345);
      sim.wallJumpMs = jump;
      return sim.run(20_000).crash('a').run(60_000).recover('a').run(60_000);
    };
    expect(course(jumpMs).transcript).toEqual(course(0).transcript);
  });

  test('of a Lease is the time since this process first saw it, whatever its renewTime', () => {
    for (const renewedAt of [-HOUR, 0, HOUR]) {
      const input = makeInput()
        .sees(makeLease('a').renewedAt(renewedAt), 0)
        .candidates(makeCandidate('b').seenAt(0).pingedAt(7000).renewedAt(7100))
        .build();
      const actionsAt = (at: number) => describeActions(decideElection(input, makeNow(at)).actions);
      expect(actionsAt(9999)).not.toContain('the Lease');
      expect(actionsAt(10_000)).toBe('grant the Lease to b, OldestEmulationVersion, transition 1');
    }
  });

  test('restarts with a different renewTime, even an earlier one', () => {
    const input = makeInput()
      .sees(makeLease('a').renewedAt(5000), 0)
      .sees(makeLease('a').renewedAt(4000), 6000)
      .candidates(makeCandidate('a').renewedAt(0).seenAt(0))
      .build();
    expect(decideElection(input, makeNow(15_999)).reason).toBe('HolderLate');
    expect(decideElection(input, makeNow(16_000)).reason).toBe('AwaitingAcks');
  });
});

test('the wall clock of a moment is in microseconds', () => {
  expect(nowAt(7, Date.UTC(2026, 0, 1) + 0.25)).toEqual({ monotonic: 7, wall: wallAt(0) + 250n });
});

describe('backoff', () => {
  test.each([
    { attempt: 1, want: 100 },
    { attempt: 2, want: 200 },
    { attempt: 4, want: 800 },
    { attempt: 5, want: 1000 },
    { attempt: 5000, want: 1000 },
  ])('after attempt $attempt takes $want ms of at most 1000', ({ attempt, want }) => {
    expect(backoffDelayMs(attempt, { initialMs: 100, maxMs: 1000 })).toBe(want);
  });

  test('the earliest of no times is never', () => {
    expect(earliest([])).toBeUndefined();
    expect(earliest([undefined, 3, 2, undefined])).toBe(2);
    expect(earliest([2, 3])).toBe(2);
  });

  test('the earliest future time is neither past nor never', () => {
    expect(earliestAfter(2, [1, 2, undefined, 4, 3, Number.POSITIVE_INFINITY])).toBe(3);
    expect(earliestAfter(2, [1, 2, Number.POSITIVE_INFINITY])).toBeUndefined();
  });
});
