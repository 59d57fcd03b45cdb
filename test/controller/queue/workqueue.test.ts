import { describe, expect, test } from 'vitest';
import { Workqueue, type WorkqueueObserver } from '../../../src/controller/queue/workqueue.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function makeQueue(options: { random?: () => number; observer?: WorkqueueObserver } = {}) {
  const clock = new VirtualClock({ random: options.random ?? (() => 1) });
  const { observer } = options;
  return { clock, queue: new Workqueue({ clock, ...(observer && { observer }) }) };
}

/** Runs one worker that takes no time, and returns the log of what it processed and when. */
function startLogging(queue: Workqueue, clock: VirtualClock): { key: string; at: number }[] {
  const log: { key: string; at: number }[] = [];
  void queue.run({
    workers: 1,
    process: async (key) => {
      log.push({ key, at: clock.now() });
    },
    onError: () => {},
  });
  return log;
}

describe('a queue of keys', () => {
  test('hands out keys in the order in which they were added', async () => {
    const { queue } = makeQueue();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    expect([await queue.next(), await queue.next(), await queue.next()]).toEqual(['a', 'b', 'c']);
  });

  test('hands out once a key that was added several times', async () => {
    const { queue } = makeQueue();
    for (const key of ['a', 'a', 'b', 'a']) queue.add(key);
    expect(queue.depth).toBe(2);
    expect([await queue.next(), await queue.next()]).toEqual(['a', 'b']);
    expect(queue.depth).toBe(0);
  });

  test('hands out a key that is added during its processing again, once, when that is done', async () => {
    const { queue } = makeQueue();
    queue.add('a');
    await queue.next();
    queue.add('a');
    queue.add('a');
    queue.add('b');
    expect(await queue.next()).toBe('b');
    queue.done('b');
    const again = queue.next();
    queue.done('a');
    expect(await again).toBe('a');
    queue.done('a');
    expect(queue.depth).toBe(0);
  });

  test('gives each waiting worker one key, first come first served', async () => {
    const { queue } = makeQueue();
    const first = queue.next();
    const second = queue.next();
    queue.add('a');
    queue.add('b');
    expect([await first, await second]).toEqual(['a', 'b']);
  });

  test('ignores the end of a processing that never began', () => {
    const { queue } = makeQueue();
    queue.add('a');
    queue.done('a');
    expect(queue.depth).toBe(1);
  });
});

describe('a deadline', () => {
  test.each([
    { name: 'the earlier of two, set first', deadlines: [10, 30], want: [10] },
    { name: 'the earlier of two, set last', deadlines: [30, 10], want: [10] },
    { name: 'at once when it has come', deadlines: [0], want: [0] },
    { name: 'at once when it has passed', deadlines: [-5], want: [0] },
    { name: 'at a fraction of a millisecond, not before it', deadlines: [0.5], want: [1] },
  ])('makes the key due: $name', async ({ deadlines, want }) => {
    const { clock, queue } = makeQueue();
    const log = startLogging(queue, clock);
    for (const at of deadlines) queue.addAt('a', at);
    await clock.advance(100);
    expect(log.map(({ at }) => at)).toEqual(want);
    expect(clock.pendingTimers).toBe(0);
  });

  test('stands when its key is added at once, as nothing says that there is nothing left to wake up for', async () => {
    const { clock, queue } = makeQueue();
    const log = startLogging(queue, clock);
    queue.addAfter('a', 10);
    await clock.advance(4);
    queue.add('a');
    await clock.advance(100);
    expect(log.map(({ at }) => at)).toEqual([4, 10]);
  });

  test('that is put off when it comes costs no processing; whoever adds the key meanwhile has one at once', async () => {
    const clock = new VirtualClock({ random: () => 1 });
    const asked: number[] = [];
    const postpone = (_key: string, at: number) => {
      asked.push(at);
      return at < 30 ? at + 10 : undefined;
    };
    const queue = new Workqueue({ clock, postpone });
    const log = startLogging(queue, clock);
    queue.addAt('a', 10);
    await clock.advance(15);
    queue.add('a');
    await clock.advance(100);
    expect(asked).toEqual([10, 20, 30]);
    expect(log.map(({ at }) => at)).toEqual([15, 30]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('is met by a processing that begins after it has come', async () => {
    const { clock, queue } = makeQueue();
    queue.add('a');
    queue.addAfter('a', 10);
    await clock.advance(10);
    expect(queue.depth).toBe(1);
    await queue.next();
    queue.done('a');
    await clock.advance(100);
    expect(queue.depth).toBe(0);
  });

  test('that comes during the processing of its key is met right afterwards', async () => {
    const { clock, queue } = makeQueue();
    queue.addAfter('a', 10);
    queue.add('a');
    await queue.next();
    await clock.advance(20);
    expect(queue.depth).toBe(0);
    queue.done('a');
    expect(queue.depth).toBe(1);
  });

  test('set after a processing began is kept beside the one that stood before, the earlier first', async () => {
    const { clock, queue } = makeQueue();
    queue.addAfter('a', 10);
    queue.add('a');
    await queue.next();
    queue.addAfter('a', 50);
    queue.done('a');
    const log = startLogging(queue, clock);
    await clock.advance(100);
    expect(log.map(({ at }) => at)).toEqual([10]);
  });

  test('costs one timer, however many keys have one', async () => {
    const { clock, queue } = makeQueue();
    for (let key = 10_000; key > 0; key--) queue.addAfter(`${key}`, key % 1000);
    expect(clock.pendingTimers).toBe(1);
    const log = startLogging(queue, clock);
    await clock.advance(1000);
    expect(log).toHaveLength(10_000);
    expect(log.every(({ key, at }) => Number(key) % 1000 === at)).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the outcome of a processing', () => {
  test.each([
    { name: 'a later moment', requeueAt: 40, want: [40] },
    { name: 'an earlier moment', requeueAt: 5, want: [5] },
    { name: 'the next change', requeueAt: undefined, want: [] },
  ])('takes the place of the deadline that stood before: $name', async ({ requeueAt, want }) => {
    const { clock, queue } = makeQueue();
    queue.addAt('a', 10);
    queue.add('a');
    await queue.next();
    queue.requeue('a', requeueAt);
    queue.done('a');
    const log = startLogging(queue, clock);
    await clock.advance(100);
    expect(log.map(({ at }) => at)).toEqual(want);
  });

  test('leaves what was added during the processing as it is', async () => {
    const { clock, queue } = makeQueue();
    queue.addAt('a', 10);
    queue.add('a');
    await queue.next();
    queue.addAt('a', 20);
    queue.requeue('a', 40);
    queue.done('a');
    const log = startLogging(queue, clock);
    await clock.advance(100);
    expect(log.map(({ at }) => at)).toEqual([20]);
  });
});

describe('the backoff of a key', () => {
  test.each([
    { name: 'doubles from 5 ms', random: 1, failures: 4, want: [5, 10, 20, 40] },
    { name: 'is halved at most by chance', random: 0, failures: 3, want: [2.5, 5, 10] },
  ])('$name', async ({ random, failures, want }) => {
    const { clock, queue } = makeQueue({ random: () => random });
    const delays: number[] = [];
    for (let failure = 0; failure < failures; failure++) {
      const from = clock.now();
      queue.addRateLimited('a');
      await clock.runUntil(() => queue.depth === 1);
      delays.push(clock.now() - from);
      await queue.next();
      queue.done('a');
    }
    expect(delays).toEqual(want.map(Math.ceil));
  });

  test('ends at a minute', async () => {
    const { clock, queue } = makeQueue();
    for (let failure = 0; failure < 2000; failure++) {
      queue.addRateLimited('a');
      queue.requeue('a', undefined);
    }
    await clock.runUntil(() => queue.depth === 1);
    await queue.next();
    queue.done('a');
    queue.addRateLimited('a');
    const from = clock.now();
    await clock.runUntil(() => queue.depth === 1);
    expect(clock.now() - from).toBe(60_000);
  });

  test('starts over when the key is forgotten', async () => {
    const { clock, queue } = makeQueue();
    for (let failure = 0; failure < 5; failure++) queue.addRateLimited('a');
    await clock.runUntil(() => queue.depth === 1);
    await queue.next();
    queue.forget('a');
    queue.done('a');
    queue.addRateLimited('a');
    const from = clock.now();
    await clock.runUntil(() => queue.depth === 1);
    expect(clock.now() - from).toBe(5);
  });
});

describe('workers', () => {
  test('process different keys at the same time, and no more than there are workers', async () => {
    const { clock, queue } = makeQueue();
    let running = 0;
    let most = 0;
    void queue.run({
      workers: 3,
      process: async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 10));
        running--;
      },
      onError: () => {},
    });
    for (let key = 0; key < 9; key++) queue.add(`${key}`);
    await clock.advance(30);
    expect({ most, running, depth: queue.depth }).toEqual({ most: 3, running: 0, depth: 0 });
  });

  test('survive a processing that throws, and retry its key with backoff', async () => {
    const { clock, queue } = makeQueue({ random: () => 0 });
    const errors: unknown[] = [];
    const log: { key: string; at: number }[] = [];
    void queue.run({
      workers: 1,
      process: async (key) => {
        log.push({ key, at: clock.now() });
        if (log.length === 1) throw new Error('refused');
      },
      onError: (key, error) => {
        errors.push([key, error]);
      },
    });
    queue.add('a');
    queue.add('b');
    await clock.advance(1000);
    expect(errors).toEqual([['a', new Error('refused')]]);
    expect(log).toEqual([
      { key: 'a', at: 0 },
      { key: 'b', at: 0 },
      { key: 'a', at: 3 },
    ]);
  });
});

describe('shutting down', () => {
  test('drops what waits, tells who waits, and leaves no timer', async () => {
    const { clock, queue } = makeQueue();
    queue.addAfter('late', 10);
    const waiting = queue.next();
    await queue.shutDown();
    queue.add('a');
    queue.addAfter('b', 5);
    queue.addRateLimited('c');
    expect(await waiting).toBeUndefined();
    expect(await queue.next()).toBeUndefined();
    expect({ depth: queue.depth, timers: clock.pendingTimers }).toEqual({ depth: 0, timers: 0 });
  });

  test('lets the workers finish what they process, and tells them that it is time to', async () => {
    const { clock, queue } = makeQueue();
    const events: string[] = [];
    const running = queue.run({
      workers: 2,
      process: async (key, signal) => {
        signal.addEventListener('abort', () => events.push(`${key} told`));
        await new Promise<void>((resolve) => clock.setTimer(resolve, 50));
        events.push(`${key} finished`);
      },
      onError: () => {},
    });
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await clock.advance(10);
    const drained = queue.shutDown().then(() => events.push('drained'));
    queue.add('a');
    await clock.advance(100);
    await Promise.all([drained, running]);
    expect(events).toEqual(['a told', 'b told', 'a finished', 'b finished', 'drained']);
  });
});

describe('what the observer is told', () => {
  test('follows a key from its addition to the end of its processing', async () => {
    const events: unknown[] = [];
    const { clock, queue } = makeQueue({
      observer: {
        depth: (keys) => events.push(['depth', keys]),
        added: () => events.push(['added']),
        retried: () => events.push(['retried']),
        queueDuration: (ms) => events.push(['queueDuration', ms]),
        workDuration: (ms) => events.push(['workDuration', ms]),
      },
    });
    queue.add('a');
    queue.add('a');
    await clock.advance(7);
    await queue.next();
    await clock.advance(11);
    expect({ unfinished: queue.unfinishedWorkMs(), longest: queue.longestRunningMs() }).toEqual({
      unfinished: 11,
      longest: 11,
    });
    queue.addRateLimited('a');
    queue.done('a');
    expect(events).toEqual([
      ['added'],
      ['depth', 1],
      ['queueDuration', 7],
      ['depth', 0],
      ['retried'],
      ['workDuration', 11],
    ]);
    expect({ unfinished: queue.unfinishedWorkMs(), longest: queue.longestRunningMs() }).toEqual({
      unfinished: 0,
      longest: 0,
    });
  });

  test('adds up the time of all that is being processed', async () => {
    const { clock, queue } = makeQueue();
    queue.add('a');
    await queue.next();
    await clock.advance(5);
    queue.add('b');
    await queue.next();
    await clock.advance(2);
    expect({ unfinished: queue.unfinishedWorkMs(), longest: queue.longestRunningMs() }).toEqual({
      unfinished: 9,
      longest: 7,
    });
  });
});
