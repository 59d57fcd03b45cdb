import { describe, expect, test } from 'vitest';
import {
  afterDelay,
  afterDoubt,
  afterFailure,
  afterList,
  afterNews,
  afterWatch,
  type BackingOff,
  listing,
  type Recovery,
  type ReflectorState,
} from '../../src/kubernetes/reflector-state.ts';

const MINUTE = 60_000;
const watching = afterList('7', 1000);

function backingOff(next: BackingOff['next']): BackingOff {
  return { kind: 'backingOff', delayMs: 200, next };
}

function makeFailure(failure: Partial<Recovery> = {}): Recovery {
  return { relist: false, forgotten: false, notServed: false, refused: false, minDelayMs: 0, ...failure };
}

/** The state in which it goes on after `count` failures, each followed by its delay. */
function afterFailures(state: ReflectorState, failure: Recovery, count: number): ReflectorState {
  return count === 0
    ? state
    : afterFailures(afterDelay(afterFailure(state, failure, 200), 1500), failure, count - 1);
}

test('after a list it watches from the place that the list shows', () => {
  expect(afterList('7', 1000)).toEqual({
    kind: 'watching',
    resourceVersion: '7',
    isResumed: false,
    refusals: 0,
    listedAt: 1000,
  });
});

test('after a watch it goes on from where it was, by another watch', () => {
  expect(watching).toMatchObject({ isResumed: false });
  expect(afterWatch(watching)).toEqual({ ...watching, isResumed: true });
  expect(afterNews(afterWatch(watching), '9')).toEqual({
    ...watching,
    isResumed: true,
    resourceVersion: '9',
  });
  expect(afterWatch(listing)).toEqual(listing);
});

test('after news the place is newer, and the refusals to go on from the former one are forgotten', () => {
  const refused = afterFailures(watching, makeFailure({ refused: true }), 3);
  expect(refused).toEqual({ ...watching, refusals: 3 });
  expect(afterNews(refused, '9')).toEqual({ ...watching, resourceVersion: '9' });
});

describe('after a failure it waits, and then', () => {
  const cases: { name: string; state: ReflectorState; failure: Partial<Recovery>; want: ReflectorState }[] = [
    { name: 'a connection broke: watches from where it was', state: watching, failure: {}, want: watching },
    { name: 'the place is lost: lists', state: watching, failure: { relist: true }, want: listing },
    {
      name: 'it was refused: watches',
      state: watching,
      failure: { refused: true },
      want: { ...watching, refusals: 1 },
    },
    { name: 'a list failed: lists', state: listing, failure: {}, want: listing },
    { name: 'a list was refused: lists', state: listing, failure: { refused: true }, want: listing },
  ];
  test.each(cases)('$name', ({ state, failure, want }) => {
    const next = afterFailure(state, makeFailure(failure), 200);
    expect(next).toEqual({ kind: 'backingOff', delayMs: 200, next: want });
    expect(afterDelay(next, 1500)).toEqual(want);
  });

  test.each([
    { name: 'nobody has watched for less than 10 s: watches', now: 12_999, since: 3000, want: watching },
    { name: 'nobody has watched for 10 s: lists', now: 13_000, since: 3000, want: listing },
    { name: 'there was a list since then: watches', now: 60_000, since: 1000, want: watching },
  ])('$name', ({ now, since, want }) => {
    expect(afterDelay(backingOff(watching), now, since)).toEqual(want);
  });

  test('the server has refused to go on from one place five times: lists', () => {
    const refusal = makeFailure({ refused: true });
    expect(afterFailures(watching, refusal, 4)).toEqual({ ...watching, refusals: 4 });
    expect(afterFailures(watching, refusal, 5)).toEqual(listing);
  });
});

describe('after evidence that the store is not in step', () => {
  const cases: { name: string; state: ReflectorState; want: ReflectorState }[] = [
    { name: 'a watch gives way to a list', state: watching, want: listing },
    { name: 'a list goes on', state: listing, want: listing },
    { name: 'a delay goes on, with a list after it', state: backingOff(watching), want: backingOff(listing) },
  ];
  test.each(cases)('$name', ({ state, want }) => {
    expect(afterDoubt(state, watching.listedAt + MINUTE)).toEqual(want);
  });

  test.each(cases)('nothing changes within a minute of the last list: $name', ({ state }) => {
    expect(afterDoubt(state, watching.listedAt + MINUTE - 1)).toEqual(state);
  });
});
