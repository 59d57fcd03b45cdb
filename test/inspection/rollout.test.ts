import { describe, expect, test } from 'vitest';
import { rehearse } from '../../src/inspection/rehearsal.ts';
import { forecastRollout } from '../../src/inspection/rollout.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  NEWEST,
  OLDEST,
} from '../support/election-builders.ts';

const NOW = makeNow(10_000);
const names = ['web-0', 'web-1', 'web-2'];
const led = makeInput()
  .sees(makeLease('web-0').renewedAt(9000).lasting(15), 9500)
  .candidates(...names.map((name) => makeCandidate(name).seenAt(9500)))
  .build();

describe('a rolling update', () => {
  test('costs a hand-over for each leader that is replaced under OldestEmulationVersion, and one under NewestVersion', () => {
    const rollout = { names, binaryVersion: '1.37.0', emulationVersion: '1.37.0' };
    expect(forecastRollout(led, NOW, rollout)).toEqual([
      {
        strategy: OLDEST,
        fewestHandOvers: 1,
        mostHandOvers: 3,
        leader: 'web-0-new',
        isSettled: true,
      },
      {
        strategy: NEWEST,
        fewestHandOvers: 1,
        mostHandOvers: 1,
        leader: 'web-0-new',
        isSettled: true,
      },
    ]);
  });
});

describe('a priority that is given in a rehearsal', () => {
  test('moves the leader', () => {
    const { holder, steps, handOvers } = rehearse(led, NOW, [
      { kind: 'priority', name: 'web-2', priority: 1 },
    ]);
    expect({ holder, handOvers }).toEqual({ holder: 'web-2', handOvers: 1 });
    expect(steps.map(({ text }) => text)).toContain('web-2 has the priority 1');
  });
});
