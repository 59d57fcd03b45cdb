import { describe, expect, test } from 'vitest';
import { DueKeys, type DueKeysOptions } from '../../src/support/due-keys.ts';
import { VirtualClock } from './virtual-clock.ts';

/** Keys that are taken as soon as they are due, with their times. */
function makeTaken(postpone?: DueKeysOptions['postpone']) {
  const clock = new VirtualClock();
  const taken: { key: string; at: number; waitedMs: number }[] = [];
  const due: DueKeys = new DueKeys({
    clock,
    ...(postpone && { postpone }),
    onDue: () => {
      const next = due.take();
      if (next) taken.push({ ...next, at: clock.now() });
    },
  });
  return { clock, due, taken, times: () => taken.map(({ at }) => at) };
}

function makeWaiting() {
  const clock = new VirtualClock();
  return { clock, due: new DueKeys({ clock, onDue: () => {} }) };
}

describe('due keys', () => {
  test('come out in the order in which they became due, each once, for any number of additions', async () => {
    const { clock, due } = makeWaiting();
    due.setDeadline('late', 10);
    for (const key of ['a', 'b', 'a']) due.add(key);
    await clock.advance(25);
    due.add('c');
    expect(due.size).toBe(4);
    const taken = Array.from({ length: 5 }, () => due.take());
    expect(taken.map((next) => next?.key)).toEqual(['a', 'b', 'late', 'c', undefined]);
    expect(taken.map((next) => next?.waitedMs)).toEqual([25, 25, 15, 0, undefined]);
  });

  test('that are deleted or cleared do not come out, and leave no timer', async () => {
    const { clock, due } = makeWaiting();
    due.add('a');
    due.delete('a');
    due.setDeadline('b', 10);
    due.delete('b');
    await clock.advance(10);
    expect(due.take()).toBeUndefined();
    due.add('a');
    due.setDeadline('b', 20);
    due.clear();
    expect([due.size, clock.pendingTimers]).toEqual([0, 0]);
  });
});

describe('a deadline', () => {
  test.each([
    { name: 'the last one that was set, though it is later', deadlines: [10, 30], want: [30] },
    { name: 'the last one that was set, if it is earlier', deadlines: [30, 10], want: [10] },
    { name: 'not at all once it is taken back', deadlines: [30, undefined], want: [] },
    { name: 'at once if it is due', deadlines: [0], want: [0] },
    { name: 'at once when it has passed, and not again at the former one', deadlines: [30, -5], want: [0] },
    { name: 'at a fraction of a millisecond, not before it', deadlines: [0.5], want: [1] },
  ])('makes the key due: $name', async ({ deadlines, want }) => {
    const { clock, due, times } = makeTaken();
    for (const at of deadlines) due.setDeadline('a', at);
    await clock.advance(100);
    expect(times()).toEqual(want);
    expect(clock.pendingTimers).toBe(0);
  });

  test('stays when its key is added in the meantime', async () => {
    const { clock, due, times } = makeTaken();
    due.setDeadline('a', 10);
    await clock.advance(4);
    due.add('a');
    await clock.advance(100);
    expect(times()).toEqual([4, 10]);
  });

  test('that is postponed when it is due makes no key due; a key that is added in the meantime is due at once', async () => {
    const asked: number[] = [];
    const { clock, due, times } = makeTaken((_key, at) => {
      asked.push(at);
      return at < 30 ? at + 10 : undefined;
    });
    due.setDeadline('a', 10);
    await clock.advance(15);
    due.add('a');
    await clock.advance(100);
    expect(asked).toEqual([10, 20, 30]);
    expect(times()).toEqual([15, 30]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('costs one timer, for any number of keys', async () => {
    const { clock, due, taken } = makeTaken();
    for (let key = 10_000; key > 0; key--) due.setDeadline(`${key}`, key % 1000);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1000);
    expect(taken).toHaveLength(10_000);
    expect(taken.every(({ key, at }) => Number(key) % 1000 === at)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});
