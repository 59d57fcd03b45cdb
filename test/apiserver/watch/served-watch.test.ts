import { expect, test } from 'vitest';
import { createEventEncoder } from '../../../src/apiserver/watch/event-encoder.ts';
import { makeObject } from '../storage/make-object.ts';
import { plainEncoder, WatchedStore } from './make-watch.ts';
import { PacedSink } from './paced-sink.ts';

test('a watch from a future revision is silent until that revision has passed', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch({ from: { kind: 'revision', revision: 4 }, bookmarks: true });
  for (const name of ['a', 'b', 'c']) watched.store.put('leases', makeObject(name));
  await watched.clock.advance(120_000);
  expect(sink.summary).toEqual([]);
  watched.store.put('leases', makeObject('d'));
  await watched.settle();
  expect(sink.summary).toEqual(['ADDED d@5']);
});

test('a list at a future revision fails', () => {
  const watched = new WatchedStore();
  const start = { kind: 'state', sendBookmark: true } as const;
  const sink = watched.watch({ from: { ...start, minimum: 2 } });
  expect(sink.lines[0]).toMatchObject({
    type: 'ERROR',
    object: {
      message: 'Timeout: Too large resource version: 2, current: 1',
      reason: 'Timeout',
      details: { causes: [{ reason: 'ResourceVersionTooLarge' }], retryAfterSeconds: 1 },
      code: 504,
    },
  });
  expect(sink.state).toBe('ended');
  watched.store.put('leases', makeObject('a'));
  expect(watched.watch({ from: { ...start, minimum: 2 } }).summary).toEqual(['ADDED a@2', 'BOOKMARK @2']);
});

test('many writes in one turn are one write to the connection', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch();
  for (const name of ['a', 'b', 'c']) watched.store.put('leases', makeObject(name));
  // The watch's timeout, and the one round.
  expect(watched.clock.pendingTimers).toBe(2);
  await watched.settle();
  expect(sink.writes).toHaveLength(1);
  expect(sink.summary).toHaveLength(3);
});

test('watchers of the same view with the same lines share the bytes, and those of another view do not', async () => {
  const watched = new WatchedStore();
  const other = createEventEncoder('other', ({ metadata }) => ({ metadata }), {});
  const sinks = [
    watched.watch(),
    watched.watch({ encode: other }),
    watched.watch(),
    watched.watch({ encode: other }),
  ];
  for (const name of ['a', 'b']) watched.store.put('leases', makeObject(name));
  await watched.settle();
  const [plain, otherView, samePlain, sameOther] = sinks.map((sink) => sink.writes[0]);
  expect(samePlain).toBe(plain);
  expect(sameOther).toBe(otherView);
  expect(sinks[1]?.lines[0]?.object).toEqual({ metadata: { name: 'a', resourceVersion: '2' } });
});

test('large output is sent in parts, between which other watchers have their turn', async () => {
  const watched = new WatchedStore();
  for (let n = 0; n < 100; n++) watched.store.put('leases', makeObject(`a${n}`, { value: 'x'.repeat(4000) }));
  const long = watched.watch({ from: { kind: 'state', sendBookmark: true } });
  const short = watched.watch();
  watched.store.put('leases', makeObject('b'));
  await watched.clock.advanceToNextTimer();
  expect(short.summary).toEqual(['ADDED b@102']);
  expect(long.lines.length).toBeLessThan(50);
  await watched.settle();
  expect(long.lines).toHaveLength(102);
  expect(Math.max(...long.writes.map(({ length }) => length))).toBeLessThan(70_000);
});

test('the initial state also waits for the client, and has one revision', async () => {
  const watched = new WatchedStore();
  const big = 'x'.repeat(40_000);
  for (const name of ['a', 'b', 'c', 'd']) watched.store.put('leases', makeObject(name, { value: big }));
  const sink = watched.watch({ from: { kind: 'state', sendBookmark: true } }, new PacedSink(1));
  watched.store.put('leases', makeObject('aa'));
  watched.store.remove('leases', 'd');
  watched.store.put('leases', makeObject('c', { value: 'new' }));
  await watched.settle();
  expect(sink.summary).toEqual(['ADDED a@2', 'ADDED b@3']);
  sink.readAlways();
  await watched.settle();
  expect(sink.summary.slice(2)).toEqual([
    'ADDED c@4',
    'ADDED d@5',
    'BOOKMARK @5',
    'ADDED aa@6',
    'DELETED d@7',
    'MODIFIED c@8',
  ]);
});

test('after its timeout, a watch ends and leaves nothing', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch({ timeoutMs: 5000, bookmarks: true });
  await watched.clock.advance(4999);
  expect(sink.state).toBe('open');
  await watched.clock.advance(1);
  expect(sink.state).toBe('ended');
  watched.store.put('leases', makeObject('a'));
  await watched.settle();
  expect(sink.writes).toEqual([]);
  expect(watched.clock.pendingTimers).toBe(0);
});

test('a timeout in the past ends the watch at once', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch({ timeoutMs: -1000, bookmarks: true });
  await watched.settle();
  expect(sink.state).toBe('ended');
});

test('at its timeout, a slow client gets only the lines that were sent', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch({ timeoutMs: 5000 }, new PacedSink(1));
  watched.store.put('leases', makeObject('a'));
  await watched.settle();
  watched.store.put('leases', makeObject('b'));
  await watched.clock.advance(5000);
  expect(sink.state).toBe('open');
  sink.read();
  await watched.settle();
  expect(sink.state).toBe('ended');
  expect(sink.summary).toEqual(['ADDED a@2']);
});

test('bookmarks come about every minute, and two seconds before the timeout', async () => {
  const watched = new WatchedStore();
  const sink = watched.watch({ bookmarks: true, timeoutMs: 150_000 });
  const without = watched.watch({ timeoutMs: 150_000 });
  watched.store.put('namespaces', makeObject('n'));
  const times: number[] = [];
  while (sink.state === 'open') {
    await watched.clock.advance(250);
    while (times.length < sink.lines.length) times.push(watched.clock.now() / 1000);
  }
  expect(sink.summary).toEqual(['BOOKMARK @2', 'BOOKMARK @2', 'BOOKMARK @2']);
  const [first = 0, second = 0, last] = times;
  for (const interval of [first, second - first]) {
    expect(interval).toBeGreaterThanOrEqual(60);
    expect(interval).toBeLessThanOrEqual(61.5);
  }
  expect(last).toBe(148);
  expect(without.writes).toEqual([]);
});

test('clients that started together do not get bookmarks at the same time', async () => {
  const watched = new WatchedStore();
  const sinks = [watched.watch({ bookmarks: true }), watched.watch({ bookmarks: true })];
  watched.store.put('namespaces', makeObject('n'));
  const told = () => sinks.filter((sink) => sink.writes.length > 0).length;
  await watched.clock.runUntil(() => told() === 1);
  const first = watched.clock.now();
  await watched.clock.runUntil(() => told() === 2);
  expect(watched.clock.now()).toBeGreaterThan(first);
});

test('no bookmark repeats a known revision', async () => {
  const watched = new WatchedStore();
  watched.store.put('leases', makeObject('a'));
  const sink = watched.watch({ bookmarks: true });
  const fromState = watched.watch({ bookmarks: true, from: { kind: 'state', sendBookmark: true } });
  await watched.clock.advance(200_000);
  expect(sink.summary).toEqual([]);
  expect(fromState.summary).toEqual(['ADDED a@2', 'BOOKMARK @2']);
});

/** Starts a watch, and makes its next timer, that of a bookmark, due right after `act`. */
async function watchUntilBookmark(watched: WatchedStore, act: () => void, sink = new PacedSink()) {
  watched.watch({ bookmarks: true }, sink);
  const delay = (watched.clock.nextTimerAt ?? 0) - watched.clock.now();
  await watched.clock.advance(delay - 0.5);
  act();
  await watched.clock.advance(0.5);
  return sink;
}

test('a bookmark comes after all events before it', async () => {
  const watched = new WatchedStore();
  const sink = await watchUntilBookmark(watched, () => watched.store.put('leases', makeObject('a')));
  expect(sink.summary).toEqual(['ADDED a@2', 'BOOKMARK @2']);
});

test('a slow client gets no bookmark', async () => {
  const watched = new WatchedStore();
  const write = () => watched.store.put('leases', makeObject('a'));
  const sink = await watchUntilBookmark(watched, write, new PacedSink(1));
  expect(sink.summary).toEqual(['ADDED a@2']);
});

test('a client that is behind gets no bookmark', async () => {
  const watched = new WatchedStore();
  const value = 'x'.repeat(40_000);
  const sink = await watchUntilBookmark(watched, () => {
    for (const name of ['a', 'b', 'c']) watched.store.put('leases', makeObject(name, { value }));
  });
  expect(sink.summary).toEqual(['ADDED a@2', 'ADDED b@3']);
  await watched.settle();
  expect(sink.summary.slice(2)).toEqual(['ADDED c@4']);
});

test('a client without the complete initial state gets no bookmark', async () => {
  const watched = new WatchedStore();
  const value = 'x'.repeat(70_000);
  for (const name of ['a', 'b', 'c']) watched.store.put('leases', makeObject(name, { value }));
  const from = { kind: 'state', sendBookmark: false } as const;
  const sink = watched.watch({ from, bookmarks: true, timeoutMs: 2001 });
  watched.store.put('namespaces', makeObject('n'));
  await watched.settle();
  expect(sink.summary).toEqual(['ADDED a@2', 'ADDED b@3', 'ADDED c@4']);
});

test('a client that is dropped when a bookmark is due leaves nothing', async () => {
  const watched = new WatchedStore(1);
  const sink = await watchUntilBookmark(watched, () => {
    for (const name of ['a', 'b']) watched.store.put('leases', makeObject(name));
  });
  expect(sink.state).toBe('destroyed');
  await watched.settle();
  expect(watched.clock.pendingTimers).toBe(0);
});

test('the first line can have another encoding', async () => {
  const watched = new WatchedStore();
  const marked = createEventEncoder('first', (object) => ({ ...object, isFirst: true }), { kind: 'Lease' });
  const sink = watched.watch({ encode: plainEncoder, encodeFirst: marked });
  const fromState = watched.watch({
    encode: plainEncoder,
    encodeFirst: marked,
    from: { kind: 'state', sendBookmark: true },
  });
  watched.store.put('leases', makeObject('a'));
  watched.store.put('leases', makeObject('b'));
  await watched.settle();
  const isFirst = (each: PacedSink) => each.lines.map(({ object }) => 'isFirst' in object);
  expect(isFirst(sink)).toEqual([true, false]);
  expect(isFirst(fromState)).toEqual([true, false, false]);
});

test.each(['state', 'revision'] as const)(
  'what is not selected is looked at in parts, too: from a %s',
  async (kind) => {
    const watched = new WatchedStore();
    const { store, clock } = watched;
    const from = { kind, revision: store.revision, sendBookmark: true };
    for (let n = 0; n < 5000; n += 1) store.put('leases', makeObject(`l${n}`));
    let looks = 0;
    const sink = watched.watch({
      from,
      selects: () => {
        looks += 1;
        return false;
      },
    });
    const seen = [looks];
    for (let turn = 0; turn < 10; turn += 1) {
      await clock.advance(1);
      seen.push(looks);
    }
    expect(looks).toBe(5000);
    expect(Math.max(...seen.map((each, index) => each - (seen[index - 1] ?? 0)))).toBe(1000);
    expect(sink.lines).toHaveLength(kind === 'state' ? 1 : 0);
  },
);
