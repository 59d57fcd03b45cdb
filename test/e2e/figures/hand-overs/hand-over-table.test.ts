import { describe, expect, test } from 'vitest';
import { between, handOverTable, sinceLetGo } from './hand-over-table.ts';
import type { HandOver } from './phases.ts';
import type { ContestantFigures, HandOverFigures } from './run.ts';
import { handOverTables } from './tables.ts';

const { scale } = handOverTables.participants;

function handOver(times: Partial<HandOver>): HandOver {
  const never = undefined;
  return {
    causedAt: 0,
    toldAt: never,
    releasedAt: never,
    expiredAt: never,
    heldAt: never,
    workedAt: never,
    ...times,
  };
}

function measured(title: string, ...workedAt: readonly (number | undefined)[]): ContestantFigures {
  const [contestant] = scale.contestants;
  if (!contestant) throw new Error('there is no contestant');
  return {
    contestant: { ...contestant, title },
    handOvers: { stop: workedAt.map((each) => handOver({ workedAt: each })) },
    callsAtRest: undefined,
  };
}

const figures = (...all: readonly ContestantFigures[]): HandOverFigures => ({
  scale,
  measured: all,
  loads: {},
});
const rows = [{ what: 'SIGTERM', phase: 'stop', of: between('causedAt', 'workedAt') }] as const;

describe('a table of hand-overs', () => {
  test('tells the least, the median and the greatest, and how the medians compare', () => {
    const table = handOverTable(figures(measured('ours', 20, 40, 60), measured('theirs', 1000)), rows, 1);
    expect(table.split('\n')).toEqual([
      '|  | ours | theirs |',
      '| --- | --- | --- |',
      '| SIGTERM | 20 ms / 40 ms / 60 ms (1/25) | 1.0 s / 1.0 s / 1.0 s |',
    ]);
  });

  test('says by what factor something takes longer', () => {
    const table = handOverTable(figures(measured('ours', 470), measured('theirs', 80)), rows, 1);
    expect(table).toContain('470 ms / 470 ms / 470 ms (×5.9)');
  });

  test('tells of a Lease that nobody took up in the end', () => {
    const table = handOverTable(figures(measured('ours', 20, undefined)), rows, 0);
    expect(table).toContain('20 ms / 20 ms / never');
  });

  test('leaves empty what a contestant does not have', () => {
    const without = { ...measured('theirs'), handOvers: {} };
    expect(handOverTable(figures(measured('ours', 20), without), rows, 0)).toContain('20 ms |  |');
  });

  test('tells what programs ask of the API server at rest, where that was counted', () => {
    const resting = { ...measured('ours', 20), callsAtRest: { perLeader: 30.04, perStandby: 0.2 } };
    const lines = handOverTable(figures(resting), rows, 0).split('\n');
    expect(lines.slice(3)).toEqual([
      '| API calls per leader and minute at rest | 30.0 |',
      '| API calls per standby and minute at rest | 0.2 |',
    ]);
  });
});

describe('the time since a Lease was let go', () => {
  test.each([
    { name: 'begins at a release', times: { releasedAt: 100, expiredAt: 900, heldAt: 130 }, want: 30 },
    { name: 'begins at the expiry without one', times: { expiredAt: 100, heldAt: 120 }, want: 20 },
    { name: 'never ends where nobody came', times: { expiredAt: 100 }, want: Number.POSITIVE_INFINITY },
    { name: 'is not known where neither was seen', times: { heldAt: 120 }, want: undefined },
  ])('$name', ({ times, want }) => {
    expect(sinceLetGo(handOver(times))).toBe(want);
  });
});
