import { describe, expect, test } from 'vitest';
import { forecastRollout, plannedChanges, plannedRollout } from '../../src/inspection/planned-changes.ts';
import { rehearse } from '../../src/inspection/rehearsal.ts';
import {
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
  NEWEST,
  OLDEST,
} from '../support/election-builders.ts';

const input = makeInput().candidates(makeCandidate('a').wants('example.com/x').seenAt(0)).build();

const nothing = { add: [], remove: [], priority: [] };

describe('the planned changes', () => {
  test('add first, with the preference of the present candidates, and remove then', () => {
    const changes = plannedChanges(
      { ...nothing, add: ['b=1.36.0/1.35.0', 'c=1.36.0'], remove: ['a'] },
      input,
    );
    const preference = { kind: 'strategy', strategy: 'example.com/x' };
    expect(changes).toMatchObject([
      {
        kind: 'add',
        candidate: { name: 'b', binaryVersion: '1.36.0', emulationVersion: '1.35.0', preference },
      },
      {
        kind: 'add',
        candidate: { name: 'c', binaryVersion: '1.36.0', emulationVersion: '1.36.0', preference },
      },
      { kind: 'remove', name: 'a' },
    ]);
  });

  test('set priorities after additions, and before removals', () => {
    const request = { ...nothing, add: ['b=1.36.0'], priority: ['b=100', 'a=-1000'], remove: ['a'] };
    expect(plannedChanges(request, input)).toMatchObject([
      { kind: 'add', candidate: { name: 'b', priority: { value: 0 } } },
      { kind: 'priority', name: 'b', priority: 100 },
      { kind: 'priority', name: 'a', priority: -1000 },
      { kind: 'remove', name: 'a' },
    ]);
  });

  test('remove a candidate only once if it is named twice', () => {
    expect(plannedChanges({ ...nothing, remove: ['a', 'a'] }, input)).toEqual([
      { kind: 'remove', name: 'a' },
    ]);
  });

  test.each([
    { request: { add: ['b'] }, want: '--add: "b" does not have two semantic versions' },
    { request: { add: ['=1.0.0'] }, want: '--add: "=1.0.0" does not begin with the name of a candidate' },
    { request: { add: ['b=1.0.0/1.1.0'] }, want: 'emulates a version newer than its binary' },
    {
      request: { remove: ['b'] },
      want: '--remove: b is not a candidate of kube-system/scheduler; there are a',
    },
    { request: { priority: ['a'] }, want: '--priority: "a" lacks a whole number of 32 bits' },
    { request: { priority: ['a=high'] }, want: 'lacks a whole number of 32 bits' },
    { request: { priority: ['a=2147483648'] }, want: 'lacks a whole number of 32 bits' },
    { request: { priority: ['b=1'] }, want: '--priority: b is not a candidate of kube-system/scheduler' },
    {
      request: { add: ['b=1.0.0=1.0.0'] },
      want: '--add: "b=1.0.0=1.0.0" does not have two semantic versions',
    },
    { request: { add: ['b=1.2.0/1.1.0/1.0.0'] }, want: 'does not have two semantic versions' },
  ])('are refused if they are $request', ({ request, want }) => {
    expect(() => plannedChanges({ ...nothing, ...request }, input)).toThrow(want);
  });
});

describe('a rolling update that is planned', () => {
  const several = makeInput()
    .candidates(...['web', 'web-0', 'web-1', 'webhook'].map((name) => makeCandidate(name).seenAt(0)))
    .build();

  test('has the candidates whose names have the prefix', () => {
    expect(plannedRollout('web=1.37.0/1.36.0', several)).toEqual({
      names: ['web', 'web-0', 'web-1'],
      binaryVersion: '1.37.0',
      emulationVersion: '1.36.0',
    });
    expect(plannedRollout('webhook=1.37.0', several)).toMatchObject({
      names: ['webhook'],
      emulationVersion: '1.37.0',
    });
  });

  test.each([
    { text: 'web', want: '--rollout: "web" does not have two semantic versions' },
    { text: 'web=1.0.0/1.1.0', want: 'emulates a version newer than its binary' },
    {
      text: 'db=1.0.0',
      want: 'matches no candidate of kube-system/scheduler; there are web, web-0',
    },
  ])('is refused if it is $text', ({ text, want }) => {
    expect(() => plannedRollout(text, several)).toThrow(want);
  });
});

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

describe('a priority in a rehearsal', () => {
  test('moves the leader', () => {
    const { holder, steps, handOvers } = rehearse(led, NOW, [
      { kind: 'priority', name: 'web-2', priority: 1 },
    ]);
    expect({ holder, handOvers }).toEqual({ holder: 'web-2', handOvers: 1 });
    expect(steps.map(({ text }) => text)).toContain('web-2 has the priority 1');
  });
});
