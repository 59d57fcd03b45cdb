import { describe, expect, test } from 'vitest';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import { type Clock, sleep } from '../../src/support/clock.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';
import { makeReflector, nameState } from './make-reflector.ts';
import { makeList, makeObject, ScriptedClient } from './scripted-client.ts';

function apiError(status: number, reason = '', retryAfterMs?: number): ApiError {
  return new ApiError({ method: 'GET', path: '/leases', status, reason, message: 'scripted', retryAfterMs });
}

/** Enough delays to include those of 10 s. */
const ENOUGH_FOR_THE_LONGEST = 10;

/** From 200 ms, doubled, up to 10 s, with half of each as jitter. */
function expectDoubling(delays: readonly (number | undefined)[], atLeast: number): void {
  expect(delays.length).toBeGreaterThanOrEqual(atLeast);
  for (const [index, delay] of delays.entries()) {
    const longest = Math.min(200 * 2 ** index, 10_000);
    expect(delay, `${index} of ${delays}`).toBeGreaterThanOrEqual(longest / 2);
    expect(delay, `${index} of ${delays}`).toBeLessThanOrEqual(longest);
  }
}

function expired(): object {
  return { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
}

describe('listing', () => {
  test('fills the store, reports each object as initial, is synced and then watches from the list on', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '3'), makeObject('b', '5')], '7');
    const atSync: number[] = [];
    const { reflector, events, fullEvents } = makeReflector(client, {
      onSynced: () => atSync.push(events.length),
      query: { labelSelector: 'app=x' },
    });
    expect(reflector.hasSynced()).toBe(false);
    reflector.start();
    await settle();
    expect(events).toEqual(['added default/a@3', 'added default/b@5']);
    expect(fullEvents.every(({ initial }) => initial)).toBe(true);
    expect(atSync).toEqual([2]);
    expect(reflector.hasSynced()).toBe(true);
    expect([...reflector.objects()].map(nameState)).toEqual(['default/a@3', 'default/b@5']);
    expect(client.requests[0]?.query).toMatchObject({ limit: 5000, labelSelector: 'app=x' });
    expect(client.watch.request.query).toMatchObject({
      watch: true,
      allowWatchBookmarks: true,
      resourceVersion: '7',
      labelSelector: 'app=x',
    });
    const timeout = Number(client.watch.request.query?.['timeoutSeconds']);
    expect(timeout).toBeGreaterThanOrEqual(300);
    expect(timeout).toBeLessThanOrEqual(600);
    await reflector.stop();
  });

  test('reports a page as soon as it arrives, then requests the next one, and is synced after the last', async () => {
    const client = new ScriptedClient();
    const pages = [Promise.withResolvers<object>(), Promise.withResolvers<object>()];
    client.onRequest = async (request) => ({
      ...(await pages[request.query?.['continue'] ? 1 : 0]?.promise),
    });
    const { reflector, events, observations } = makeReflector(client);
    reflector.start();
    await settle();
    expect(client.requests).toHaveLength(1);
    pages[0]?.resolve(makeList([makeObject('a', '3')], '7', 'more'));
    await settle();
    expect(client.requests.map(({ query }) => [query?.['limit'], query?.['continue']])).toEqual([
      [5000, undefined],
      [5000, 'more'],
    ]);
    expect([events, reflector.hasSynced()]).toEqual([['added default/a@3'], false]);
    pages[1]?.resolve(makeList([makeObject('b', '5')], '7'));
    await settle();
    expect([...reflector.objects()].map(nameState)).toEqual(['default/a@3', 'default/b@5']);
    expect([events.length, reflector.hasSynced()]).toEqual([2, true]);
    expect(observations[0]).toEqual({ type: 'listing' });
    expect(observations[1]).toMatchObject({ type: 'listed', objects: 2, pages: 2 });
    await reflector.stop();
  });

  test('decodes items as they arrive, so that no raw list is ever in memory', async () => {
    const client = new ScriptedClient();
    const decoded: (string | undefined)[] = [];
    const decodedBefore: number[] = [];
    client.onRequest = async ({ takeItems }) => {
      for (const name of ['a', 'b']) {
        decodedBefore.push(decoded.length);
        await takeItems?.([makeObject(name, '3')]);
      }
      return makeList([], '7');
    };
    const { reflector, events, observations } = makeReflector(client, {
      decode: (raw) => {
        decoded.push(raw.metadata.name);
        return raw;
      },
    });
    reflector.start();
    await settle();
    expect(decodedBefore).toEqual([0, 1]);
    expect(events).toEqual(['added default/a@3', 'added default/b@3']);
    expect(observations[1]).toMatchObject({ type: 'listed', objects: 2, pages: 1 });
    await reflector.stop();
  });

  test('lets other work run while a long list arrives', async () => {
    const client = new ScriptedClient();
    let taken = 0;
    client.onRequest = async ({ takeItems }) => {
      for (; taken < 3; taken++) await takeItems?.([makeObject(`a-${taken}`, '3')]);
      return makeList([], '7');
    };
    const idle = new VirtualClock();
    let workedMs = 0;
    const clock: Clock = {
      now: () => idle.now() + workedMs,
      wallTime: () => idle.wallTime(),
      setTimer: (callback, delayMs) => idle.setTimer(callback, delayMs),
      random: () => idle.random(),
    };
    const decode = (raw: KubernetesObject) => {
      workedMs += 11;
      return raw;
    };
    const { reflector } = makeReflector(client, { clock, decode });
    reflector.start();
    await settle();
    expect(taken).toBe(0);
    await idle.advance(0);
    expect([taken, reflector.hasSynced()]).toEqual([3, true]);
    await reflector.stop();
  });

  test('restarts when the server has forgotten the continue token', async () => {
    const client = new ScriptedClient();
    client.onRequest = ({ query }) => {
      if (query?.['continue']) throw apiError(410, 'Expired');
      return client.requests.length === 1
        ? makeList([makeObject('gone', '1')], '7', 'more')
        : makeList([makeObject('a', '8')], '9');
    };
    const { reflector, events, errors, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(0);
    expect(events).toEqual(['added default/gone@1', 'added default/a@8', 'deleted default/gone@1']);
    expect([...reflector.objects()].map(nameState)).toEqual(['default/a@8']);
    expect(errors).toEqual([]);
    expect(client.watch.resourceVersion).toBe('9');
    await reflector.stop();
  });

  test('backs off if it never reaches the end of a list', async () => {
    const client = new ScriptedClient();
    client.onRequest = ({ query }) => {
      if (query?.['continue']) throw apiError(410, 'Expired');
      return makeList([], '7', 'more');
    };
    const { reflector, errors, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(0);
    expect(client.requests).toHaveLength(4);
    expect(errors).toMatchObject([{ error: { status: 410 }, context: { during: 'list' } }]);
    await clock.advance(200);
    expect(client.requests).toHaveLength(8);
    await reflector.stop();
  });

  test('reports invalid items and continues without them; one without a resourceVersion is valid', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList(['nonsense', { metadata: {} }, { metadata: { name: 'bare' } }], '7');
    const { reflector, events, errors } = makeReflector(client);
    reflector.start();
    await settle();
    expect(events).toEqual(['added bare@undefined']);
    expect(errors.map(({ context }) => context.during)).toEqual(['decode', 'decode']);
    await reflector.stop();
  });

  test('treats a list with null items as empty', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => ({ items: null, metadata: { resourceVersion: '7' } });
    const { reflector } = makeReflector(client);
    reflector.start();
    await settle();
    expect(reflector.hasSynced()).toBe(true);
    await reflector.stop();
  });

  test('retries after an answer that is not a list', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => (client.requests.length === 1 ? { kind: 'Lease' } : makeList([], '7'));
    const { reflector, errors, clock } = makeReflector(client);
    reflector.start();
    await clock.runUntil(() => reflector.hasSynced());
    expect(errors).toMatchObject([{ error: { code: 'MALFORMED_ANSWER' } }]);
    await reflector.stop();
  });
});

describe('watching', () => {
  test('reports added, modified and deleted objects, with their previous state', async () => {
    const client = new ScriptedClient();
    const { reflector, fullEvents } = makeReflector(client);
    reflector.start();
    await settle();
    const [first, second, last] = [makeObject('a', '2'), makeObject('a', '3'), makeObject('a', '4')];
    client.watch.event('ADDED', first);
    client.watch.event('MODIFIED', second);
    client.watch.event('DELETED', last);
    await settle();
    expect(fullEvents).toEqual([
      { type: 'added', object: first, previous: undefined, initial: false, isListed: false },
      { type: 'modified', object: second, previous: first, initial: false, isListed: false },
      { type: 'deleted', object: last, previous: second, initial: false, isListed: false },
    ]);
    expect([...reflector.objects()]).toEqual([]);
    await reflector.stop();
  });

  test('drops a known resourceVersion, and the deletion of an unknown object', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '2')], '2');
    const { reflector, events } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('MODIFIED', makeObject('a', '2'));
    client.watch.event('DELETED', makeObject('never', '3'));
    await settle();
    expect(events).toEqual(['added default/a@2']);
    await reflector.stop();
  });

  test('treats an object with another uid and the same name as another object', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '2')], '2');
    const { reflector, events } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('ADDED', { metadata: { ...makeObject('a', '9').metadata, uid: 'another' } });
    await settle();
    expect(events).toEqual(['added default/a@2', 'deleted default/a@2', 'added default/a@9']);
    await reflector.stop();
  });

  test('resumes from the last event or bookmark when the server ends the watch, without a list', async () => {
    const client = new ScriptedClient();
    const { reflector, clock, errors } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('ADDED', makeObject('a', '5'));
    await clock.advance(60_000);
    client.watch.end();
    await settle();
    expect(client.watch.resourceVersion).toBe('5');
    client.watch.bookmark('9');
    await clock.advance(60_000);
    client.watch.end();
    await settle();
    expect(client.watch.resourceVersion).toBe('9');
    expect(client.requests).toHaveLength(1);
    expect(errors).toEqual([]);
    await reflector.stop();
  });

  test('drops a partial line at the end of the connection, and resumes from the one before', async () => {
    const client = new ScriptedClient();
    const { reflector, clock, events } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('ADDED', makeObject('a', '5'));
    client.watch.bytes('{"type":"ADDED","object":{"metadata":{"na');
    client.watch.fail(new ConnectionError('other side closed', { code: 'ECONNRESET' }));
    await clock.runUntil(() => client.watches.length === 2);
    expect(client.watch.resourceVersion).toBe('5');
    expect(events).toEqual(['added default/a@5']);
    expect(client.requests).toHaveLength(1);
    await reflector.stop();
  });

  test.each([
    { name: 'no JSON', line: '{"type":' },
    { name: 'no event', line: '{"type":"NEWS","object":{}}' },
    { name: 'an event without a named object', line: '{"type":"ADDED","object":{"metadata":{}}}' },
    { name: 'a bookmark without a resourceVersion', line: '{"type":"BOOKMARK","object":{}}' },
  ])('lists again after a line that is $name, because it may have hidden a change', async ({ line }) => {
    const client = new ScriptedClient();
    const { reflector, clock, errors } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.bytes(`${line}\n`);
    await clock.runUntil(() => client.requests.length === 2);
    expect(errors).toMatchObject([{ error: { code: 'MALFORMED_ANSWER' }, context: { during: 'watch' } }]);
    await reflector.stop();
  });

  test('aborts a silent watch after 90 s, counting bookmarks as activity, and lists: a missed change may be old', async () => {
    const client = new ScriptedClient();
    const { reflector, clock, errors, observations } = makeReflector(client);
    reflector.start();
    await clock.advance(60_000);
    client.watch.bookmark('8');
    await clock.advance(89_999);
    expect([client.watches.length, reflector.lastActivity]).toEqual([1, 60_000]);
    await clock.advance(1);
    expect(client.watches.map(({ ended }) => ended)).toEqual([true, false]);
    expect(client.requests).toHaveLength(2);
    expect(errors).toEqual([]);
    expect(observations).toContainEqual({ type: 'watchEnded', how: 'stalled' });
    await reflector.stop();
  });

  test('does not count an accepted watch as activity, after one of them has stalled', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(200_000);
    client.watch.end();
    await clock.advance(10_000);
    expect([client.watches.length, reflector.lastActivity]).toEqual([4, 0]);
    client.watch.bookmark('8');
    await settle();
    expect(reflector.lastActivity).toBe(210_000);
    await reflector.stop();
  });

  test('counts an accepted watch as activity after an idle one was cut', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    for (const time of [35_000, 70_000, 105_000]) {
      await clock.advance(35_000);
      client.watch.end();
      await settle();
      expect(reflector.lastActivity).toBe(time);
    }
    await reflector.stop();
  });

  test('knows since when it has no watch, through all failures, until one is open again', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    expect(reflector.unwatchedSince).toBeUndefined();
    reflector.start();
    expect(reflector.unwatchedSince).toBe(0);
    await clock.advance(5000);
    expect(reflector.unwatchedSince).toBeUndefined();
    let refused = 0;
    client.onWatch = () => {
      refused++;
      throw new ConnectionError('refused', { code: 'ECONNREFUSED' });
    };
    client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' }));
    await clock.advance(20_000);
    expect(refused).toBeGreaterThan(3);
    expect(reflector.unwatchedSince).toBe(5000);
    client.onWatch = () => {};
    await clock.advance(20_000);
    expect(reflector.unwatchedSince).toBeUndefined();
    await reflector.stop();
  });

  describe.each([
    {
      how: 'broke',
      end: (client: ScriptedClient) =>
        client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' })),
    },
    { how: 'was ended by the server', end: (client: ScriptedClient) => client.watch.end() },
  ])('before it resumes after a watch that $how', ({ end }) => {
    async function watchEnded(now: string) {
      const client = new ScriptedClient();
      client.onRequest = () => makeList([makeObject('a', '300')], '300');
      const made = makeReflector(client);
      made.reflector.start();
      await made.clock.advance(5000);
      client.onRequest = () => makeList([makeObject('b', now)], now);
      client.onLook = () => makeList([], now);
      end(client);
      await made.clock.advance(20_000);
      return { client, ...made };
    }

    test('it lists again if the server is behind its position, because etcd was restored from a backup', async () => {
      const { client, reflector, events, errors } = await watchEnded('200');
      expect(client.requests).toHaveLength(2);
      expect(client.watch.resourceVersion).toBe('200');
      expect(events.slice(1)).toEqual(['added default/b@200', 'deleted default/a@300']);
      expect(errors.at(-1)?.error).toMatchObject({ code: 'SET_BACK' });
      await reflector.stop();
    });

    test.each(['300', '400'])('it lists nothing where the server is at 300 or later (%s)', async (now) => {
      const { client, reflector, events, errors } = await watchEnded(now);
      expect(client.requests).toHaveLength(1);
      expect(client.watches.length).toBeGreaterThan(1);
      expect(client.watch.resourceVersion).toBe('300');
      expect(events.slice(1)).toEqual([]);
      expect(errors.map(({ error }) => error)).not.toContainEqual(
        expect.objectContaining({ code: 'SET_BACK' }),
      );
      await reflector.stop();
    });
  });

  test.each([
    { downMs: 4000, lists: 1 },
    { downMs: 11_000, lists: 2 },
  ])(
    'after $downMs ms without a watch it has listed $lists times: later, a restored server may have reached the position again',
    async ({ downMs, lists }) => {
      const client = new ScriptedClient();
      client.onRequest = () => makeList([makeObject('a', '300')], '300');
      const { reflector, clock, events } = makeReflector(client);
      reflector.start();
      await clock.advance(5000);
      client.onWatch = () => {
        throw new ConnectionError('refused', { code: 'ECONNREFUSED' });
      };
      client.onRequest = () => makeList([makeObject('b', '305')], '310');
      client.onLook = () => makeList([], '310');
      client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' }));
      await clock.advance(downMs);
      client.onWatch = () => {};
      await clock.advance(10_000);
      expect(client.requests).toHaveLength(lists);
      expect(events.slice(1)).toEqual(lists === 1 ? [] : ['added default/b@305', 'deleted default/a@300']);
      await reflector.stop();
    },
  );

  test.each([
    { openMs: 9999, lists: 1, want: ['added default/b@301'] },
    { openMs: 10_001, lists: 2, want: [] },
  ])(
    'after a watch that opened $openMs ms after the end of the last one, it has listed $lists times: its changes may be old',
    async ({ openMs, lists, want }) => {
      const client = new ScriptedClient();
      client.onRequest = () => makeList([], '300');
      const { reflector, clock, events } = makeReflector(client);
      reflector.start();
      await clock.advance(5000);
      client.onWatch = ({ signal }) => sleep(clock, openMs, signal);
      client.watch.end();
      await clock.advance(openMs);
      const [, late] = client.watches;
      late?.event('ADDED', makeObject('b', '301'));
      await settle();
      expect(client.requests).toHaveLength(lists);
      expect(events).toEqual(want);
      await reflector.stop();
    },
  );

  test('lists after a watch whose connection was silent until it timed out: a missed change may be old', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(60_000);
    client.watch.fail(new ConnectionError('read ETIMEDOUT', { code: 'ETIMEDOUT' }));
    await clock.advance(1000);
    expect(client.requests).toHaveLength(2);
    await reflector.stop();
  });

  test('does not read the server’s revision before the watch that follows a list', async () => {
    const client = new ScriptedClient();
    let looks = 0;
    client.onLook = () => makeList([], `${++looks}`);
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(1);
    expect(client.watches).toHaveLength(1);
    expect(looks).toBe(0);
    await reflector.stop();
  });

  test('lists again when its store is reported as wrong, but at most once a minute', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '5'), makeObject('b', '6')], '6');
    const { reflector, clock, events, errors } = makeReflector(client);
    reflector.start();
    await clock.advance(59_999);
    reflector.relist();
    await clock.advance(1);
    expect(client.requests).toHaveLength(1);
    client.onRequest = () => makeList([makeObject('b', '6')], '7');
    reflector.relist();
    reflector.relist();
    await clock.advance(0);
    expect(client.requests).toHaveLength(2);
    expect(client.watch.resourceVersion).toBe('7');
    expect(events.at(-1)).toBe('deleted default/a@5');
    expect(errors).toEqual([]);
    await reflector.stop();
  });

  test('lists after the delay of a failure when its store is reported as wrong during the delay', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(60_000);
    client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' }));
    await settle();
    reflector.relist();
    await clock.advance(200);
    expect([client.requests.length, client.watches.length]).toEqual([2, 2]);
    await reflector.stop();
  });

  test('does not loop when the server ends every watch at once', async () => {
    const client = new ScriptedClient();
    const { reflector, clock, errors } = makeReflector(client);
    client.onWatch = () => queueMicrotask(() => client.watch.end());
    reflector.start();
    await clock.advance(60_000);
    expect(errors[0]).toMatchObject({ error: { code: 'WATCH_CLOSED_EARLY' } });
    expectDoubling(
      errors.map(({ context }) => context.retryInMs),
      ENOUGH_FOR_THE_LONGEST,
    );
    expect(client.watches).toHaveLength(errors.length);
    await reflector.stop();
  });
});

describe('recovering', () => {
  test.each([
    { name: 'in answer to the watch', code: 410, refuse: true },
    { name: 'as an event, by its code', code: 410, refuse: false },
    { name: 'as an event, by its reason alone', code: 500, refuse: false },
  ])('lists again after an expired resourceVersion, told $name', async ({ code, refuse }) => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([], `${client.requests.length}`);
    const { reflector, clock } = makeReflector(client);
    client.onWatch = ({ query }) => {
      if (refuse && query?.['resourceVersion'] === '1') throw apiError(410, 'Expired');
    };
    reflector.start();
    await settle();
    if (!refuse) client.watch.event('ERROR', { ...expired(), code });
    await clock.runUntil(() => client.requests.length === 2);
    expect(clock.now()).toBeLessThanOrEqual(200);
    expect(client.watch.resourceVersion).toBe('2');
    await reflector.stop();
  });

  test('lists at once when a server that was down answers that it has forgotten the position', async () => {
    const client = new ScriptedClient();
    let isDown = true;
    client.onRequest = () => makeList([], `${client.requests.length}`);
    client.onWatch = ({ query }) => {
      if (query?.['resourceVersion'] !== '1') return;
      throw isDown ? new ConnectionError('refused', { code: 'ECONNREFUSED' }) : apiError(410, 'Expired');
    };
    const { reflector, clock, errors } = makeReflector(client);
    reflector.start();
    await clock.runUntil(() => errors.length === 4);
    isDown = false;
    await clock.runUntil(() => errors.length === 5);
    const answeredAt = clock.now();
    await clock.runUntil(() => client.requests.length === 2);
    expect(clock.now()).toBe(answeredAt);
    expect(errors.at(-1)).toMatchObject({ error: { status: 410 }, context: { retryInMs: 0 } });
    await reflector.stop();
  });

  test.each([
    { name: 'in answer to the watch', refuse: true },
    { name: 'as an event', refuse: false },
  ])(
    'waits longer and longer, up to 10 s, when the server forgets each position at once, told $name',
    async ({ refuse }) => {
      const client = new ScriptedClient();
      client.onWatch = () => {
        if (refuse) throw apiError(410, 'Expired');
        queueMicrotask(() => client.watch.event('ERROR', expired()));
      };
      const { reflector, clock, errors } = makeReflector(client);
      reflector.start();
      await clock.advance(60_000);
      const [first, ...delays] = errors.map(({ context }) => context.retryInMs);
      expect(first).toBe(0);
      expectDoubling(delays, ENOUGH_FOR_THE_LONGEST);
      await reflector.stop();
    },
  );

  test('reports the differences after another list, and no unchanged objects', async () => {
    const client = new ScriptedClient();
    const lists = [
      makeList([makeObject('same', '1'), makeObject('changed', '2'), makeObject('gone', '3')], '3'),
      makeList([makeObject('same', '1'), makeObject('changed', '8'), makeObject('new', '9')], '9'),
    ];
    client.onRequest = () => lists[client.requests.length - 1] ?? makeList([], '0');
    const { reflector, clock, fullEvents, events } = makeReflector(client);
    reflector.start();
    await settle();
    events.length = 0;
    fullEvents.length = 0;
    client.watch.event('ERROR', expired());
    await clock.runUntil(() => client.requests.length === 2);
    expect(events).toEqual(['modified default/changed@8', 'added default/new@9', 'deleted default/gone@3']);
    expect(fullEvents.some(({ initial }) => initial)).toBe(false);
    const held = ['default/same@1', 'default/changed@8', 'default/new@9'];
    expect([...reflector.objects()].map(nameState)).toEqual(held);
    await reflector.stop();
  });

  test.each([
    { name: 'a 500', error: apiError(500, 'InternalError') },
    { name: 'a 403', error: apiError(403, 'Forbidden') },
    { name: 'a reset connection', error: new ConnectionError('reset', { code: 'ECONNRESET' }) },
  ])('waits longer and longer after $name, and resumes', async ({ error }) => {
    const client = new ScriptedClient();
    const { reflector, clock, errors } = makeReflector(client);
    let attempts = 0;
    client.onWatch = () => {
      if (attempts++ < 4) throw error;
    };
    reflector.start();
    await clock.runUntil(() => client.watches.length === 1);
    expectDoubling(
      errors.map(({ context }) => context.retryInMs),
      4,
    );
    expect(client.requests).toHaveLength(1);
    expect(client.watch.resourceVersion).toBe('1');
    await reflector.stop();
  });

  test.each([
    { name: 'a list', list: true },
    { name: 'a watch', list: false },
  ])('waits for as long as a busy server asks, on $name', async ({ list }) => {
    const client = new ScriptedClient();
    let refusals = 0;
    const refuseOnce = () => {
      if (refusals++ === 0) throw apiError(429, 'TooManyRequests', 7_000);
    };
    if (!list) client.onWatch = refuseOnce;
    else {
      client.onRequest = () => {
        refuseOnce();
        return makeList([], '1');
      };
    }
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await clock.advance(6_999);
    expect([client.watches.length, refusals]).toEqual([0, 1]);
    await clock.advance(1);
    expect(client.watches).toHaveLength(1);
    await reflector.stop();
  });

  test('waits if the server asks for it within a watch', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('ERROR', { code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds: 5 } });
    await clock.advance(4_999);
    expect(client.watches).toHaveLength(1);
    await clock.advance(1);
    expect(client.watches).toHaveLength(2);
    expect(client.requests).toHaveLength(1);
    await reflector.stop();
  });

  test('reports each time that the resource is not served, retries, and lists when it is served again', async () => {
    const client = new ScriptedClient();
    let told = 0;
    const { reflector, clock } = makeReflector(client, { onNotServed: () => told++ });
    client.onRequest = () => {
      if (told < 3) throw apiError(404, 'NotFound');
      return makeList([], '1');
    };
    reflector.start();
    await clock.runUntil(() => reflector.hasSynced());
    expect(told).toBe(3);
    expect(client.requests).toHaveLength(4);
    client.watch.event('ERROR', { code: 404, reason: 'NotFound' });
    await clock.runUntil(() => client.watches.length === 2);
    expect(told).toBe(4);
    expect(client.requests).toHaveLength(5);
    await reflector.stop();
  });

  test('lists again when the server repeatedly refuses to resume from a position', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([], client.requests.length === 1 ? '1000' : '7');
    client.onWatch = ({ query }) => {
      if (query?.['resourceVersion'] === '1000') throw apiError(504, 'Timeout');
    };
    const { reflector, clock, errors } = makeReflector(client);
    reflector.start();
    await clock.runUntil(() => client.watches.length === 1);
    expect([errors.length, client.watch.resourceVersion]).toEqual([5, '7']);
    await reflector.stop();
  });

  test('forgets refusals after an event: they were about another position', async () => {
    const client = new ScriptedClient();
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await settle();
    let refusals = 0;
    client.onWatch = () => {
      if (++refusals % 4 !== 0) throw apiError(504, 'Timeout');
    };
    for (const watches of [2, 3]) {
      client.watch.bookmark(`${watches}`);
      client.watch.end();
      await clock.runUntil(() => client.watches.length === watches);
    }
    expect([refusals, client.requests.length]).toEqual([8, 1]);
    await reflector.stop();
  });

  test('starts with short delays again after a time without failures', async () => {
    const client = new ScriptedClient();
    const { reflector, clock, errors } = makeReflector(client);
    reflector.start();
    for (let failures = 0; failures < 8; failures++) {
      await clock.runUntil(() => client.watches.length > failures);
      client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' }));
    }
    await clock.runUntil(() => client.watches.length === 9);
    expect(errors.at(-1)?.context.retryInMs).toBeGreaterThanOrEqual(5_000);
    await clock.advance(10_000);
    client.watch.fail(new ConnectionError('reset', { code: 'ECONNRESET' }));
    await settle();
    expect(errors.at(-1)?.context.retryInMs).toBeLessThanOrEqual(200);
    await reflector.stop();
  });
});

describe('callbacks that throw', () => {
  test('are reported, without other effects', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '1'), makeObject('b', '1')], '1');
    const seen: string[] = [];
    const { reflector, errors } = makeReflector(client, {
      handler: ({ object }) => {
        seen.push(nameState(object));
        throw new Error('handler');
      },
      onSynced: () => {
        throw new Error('synced');
      },
    });
    reflector.start();
    await settle();
    client.watch.event('ADDED', makeObject('c', '2'));
    await settle();
    expect(seen).toEqual(['default/a@1', 'default/b@1', 'default/c@2']);
    expect(errors.map(({ context }) => context.during)).toEqual(Array(4).fill('callback'));
    await reflector.stop();
  });

  test('do not stop it, even if they report errors', async () => {
    const client = new ScriptedClient();
    const { reflector } = makeReflector(client, {
      decode: () => {
        throw new Error('decode');
      },
      onError: () => {
        throw new Error('report');
      },
    });
    client.onRequest = () => makeList([makeObject('a', '1')], '1');
    reflector.start();
    await settle();
    expect(reflector.hasSynced()).toBe(true);
    await reflector.stop();
  });

  test('skip an undecodable state, but never a deletion', async () => {
    const client = new ScriptedClient();
    const { reflector, events, errors } = makeReflector(client, {
      decode: (raw) => {
        if (raw['bad']) throw new Error('bad');
        return raw;
      },
    });
    reflector.start();
    await settle();
    client.watch.event('ADDED', makeObject('a', '2'));
    client.watch.event('MODIFIED', makeObject('a', '3', { bad: true }));
    client.watch.event('DELETED', makeObject('a', '4', { bad: true }));
    await settle();
    expect(events).toEqual(['added default/a@2', 'deleted default/a@2']);
    expect(errors.map(({ context }) => context.during)).toEqual(['decode', 'decode']);
    await reflector.stop();
  });
});

describe('stopping', () => {
  test('ends a list in progress, without events and without a watch', async () => {
    const client = new ScriptedClient();
    const answer = Promise.withResolvers<ReturnType<typeof makeList>>();
    client.onRequest = () => answer.promise;
    const { reflector, events, errors, observations, clock } = makeReflector(client);
    reflector.start();
    await settle();
    const stopped = reflector.stop();
    expect(client.requests[0]?.signal?.aborted).toBe(true);
    // The answer was already in flight.
    answer.resolve(makeList([makeObject('a', '1')], '1'));
    await stopped;
    await clock.advance(600_000);
    expect([events, errors, client.watches, client.requests.length]).toEqual([[], [], [], 1]);
    expect([[...reflector.objects()], observations]).toEqual([[], [{ type: 'listing' }]]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends a watch, without its unreported events', async () => {
    const client = new ScriptedClient();
    const { reflector, events, errors, clock } = makeReflector(client);
    reflector.start();
    await settle();
    client.watch.event('ADDED', makeObject('a', '2'));
    await reflector.stop();
    await clock.advance(600_000);
    expect([events, errors, client.watches.length, client.watch.ended]).toEqual([[], [], 1, true]);
    expect([...reflector.objects()]).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  test('ends the wait before the next attempt', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => {
      throw apiError(500);
    };
    const { reflector, clock } = makeReflector(client);
    reflector.start();
    await settle();
    expect(clock.pendingTimers).toBe(1);
    await reflector.stop();
    expect([clock.pendingTimers, client.requests.length]).toEqual([0, 1]);
  });

  test('can be requested by a handler: no more events are reported', async () => {
    const client = new ScriptedClient();
    client.onRequest = () => makeList([makeObject('a', '1'), makeObject('b', '1')], '1');
    const seen: string[] = [];
    let stopped: Promise<void> | undefined;
    const { reflector } = makeReflector(client, {
      handler: ({ object }) => {
        seen.push(nameState(object));
        stopped = reflector.stop();
      },
    });
    reflector.start();
    await settle();
    await stopped;
    expect([seen, reflector.hasSynced(), client.watches]).toEqual([['default/a@1'], false, []]);
  });

  test('has no effect before the start, after which it does not start', async () => {
    const client = new ScriptedClient();
    const { reflector } = makeReflector(client);
    await reflector.stop();
    reflector.start();
    await settle();
    expect(client.requests).toEqual([]);
  });
});
