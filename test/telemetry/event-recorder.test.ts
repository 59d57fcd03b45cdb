import { describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import { createEventCorrelator, createEventRecorder } from '../../src/telemetry/event-recorder.ts';
import type { LeaseEvent } from '../../src/telemetry/lease-event.ts';
import { createRecentMap, createTokenBucket } from '../../src/telemetry/log-budget.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { makeLeaseEvent } from './make-lease-event.ts';

function makeRecorder(answer: (request: ApiRequest) => Promise<void> = async () => {}) {
  const clock = new VirtualClock();
  const requests: ApiRequest[] = [];
  const failures: unknown[] = [];
  const results: string[] = [];
  const recorder = createEventRecorder({
    clock,
    client: {
      async request(request) {
        requests.push(request);
        await answer(request);
        return {};
      },
    },
    host: 'node-1',
    onEnd: (result) => results.push(result),
    onFailure: (error) => failures.push(error),
  });
  return { clock, requests, failures, results, recorder };
}

/** How long Events wait before they are written, in milliseconds. */
const LINGER_MS = 1000;

const onLease = (name: string) => makeLeaseEvent({ lease: { ...makeLeaseEvent().lease, name } });

function nameOf(request: ApiRequest | undefined): string {
  const body = request?.body as { readonly metadata: { readonly name: string } } | undefined;
  return body?.metadata.name ?? '';
}

const notFound = (path: string) =>
  new ApiError({ method: 'PATCH', path, status: 404, reason: 'NotFound', message: 'gone' });

describe('an Event', () => {
  test('is written as a core/v1 Event about the Lease, when its elections are likely to be over', async () => {
    const { clock, requests, results, recorder } = makeRecorder();
    recorder.record(makeLeaseEvent());
    await clock.advance(LINGER_MS - 1);
    expect(requests).toEqual([]);
    await clock.advance(1);
    expect(results).toEqual(['written']);
    expect(requests).toMatchObject([
      {
        method: 'POST',
        path: '/api/v1/namespaces/default/events',
        query: { fieldManager: 'coordinated-leader-election' },
        body: {
          metadata: { namespace: 'default', name: expect.stringMatching(/^scheduler\.[0-9a-f]{16}$/) },
          involvedObject: {
            apiVersion: 'coordination.k8s.io/v1',
            kind: 'Lease',
            namespace: 'default',
            name: 'scheduler',
            uid: 'uid-1',
          },
          type: 'Normal',
          reason: 'LeaderElected',
          message: 'a leads',
          source: { component: 'coordinated-leader-election', host: 'node-1' },
          firstTimestamp: '2026-01-01T00:00:00Z',
          lastTimestamp: '2026-01-01T00:00:00Z',
          count: 1,
        },
      },
    ]);
  });

  test('that repeats is counted up in the first, with the time of the event', async () => {
    const { clock, requests, recorder } = makeRecorder();
    recorder.record(makeLeaseEvent());
    await clock.advance(90_500);
    recorder.record(makeLeaseEvent());
    recorder.record(makeLeaseEvent());
    await clock.advance(LINGER_MS);
    const [first, ...repeats] = requests;
    const name = nameOf(first);
    expect(repeats).toMatchObject(
      [2, 3].map((count) => ({
        method: 'PATCH',
        path: `/api/v1/namespaces/default/events/${name}`,
        contentType: 'application/merge-patch+json',
        body: { count, lastTimestamp: '2026-01-01T00:01:30Z' },
      })),
    );
  });

  test('that repeats one that the server has dropped is written again', async () => {
    const { clock, requests, results, recorder } = makeRecorder(async ({ method, path }) => {
      if (method === 'PATCH') throw notFound(path);
    });
    recorder.record(makeLeaseEvent());
    recorder.record(makeLeaseEvent());
    await clock.advance(LINGER_MS);
    expect(requests.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(requests[2]).toMatchObject({ body: { count: 1 } });
    expect(results).toEqual(['written', 'written']);
  });

  test('has a unique and valid name, for any length of the name of the Lease', async () => {
    const { clock, requests, recorder } = makeRecorder();
    for (const name of [`${'x'.repeat(235)}.${'y'.repeat(17)}`, 'scheduler', 'other']) {
      recorder.record(onLease(name));
    }
    await clock.advance(LINGER_MS);
    const names = requests.map(nameOf);
    expect(new Set(names).size).toBe(3);
    expect(names[0]).toMatch(/^x{235}\.[0-9a-f]{16}$/);
  });
});

describe('a failure', () => {
  test.each([
    { name: 'a refusal', error: new ApiError({ method: 'POST', path: '/', status: 403, message: 'no' }) },
    { name: 'a broken connection', error: new ConnectionError('reset', { code: 'ECONNRESET' }) },
  ])('like $name is logged and counted, and the next Event is written nevertheless', async ({ error }) => {
    let isFirst = true;
    const { clock, requests, failures, results, recorder } = makeRecorder(async () => {
      if (!isFirst) return;
      isFirst = false;
      throw error;
    });
    recorder.record(onLease('one'));
    recorder.record(onLease('two'));
    await clock.advance(LINGER_MS);
    expect(requests).toHaveLength(2);
    expect(failures).toEqual([error]);
    expect(results).toEqual(['failed', 'written']);
  });

  test.each([
    { name: 'gone', status: 404, message: 'namespaces "default" not found' },
    { name: 'going', status: 403, message: 'unable to create: namespace default is being terminated' },
  ])('because the namespace is $name is counted, not logged', async ({ status, message }) => {
    const { clock, failures, results, recorder } = makeRecorder(async () => {
      throw new ApiError({ method: 'POST', path: '/', status, message });
    });
    recorder.record(makeLeaseEvent());
    await clock.advance(LINGER_MS);
    expect(failures).toEqual([]);
    expect(results).toEqual(['failed']);
  });
});

describe('a storm', () => {
  test('is written at a rate that the server can bear', async () => {
    const { clock, requests, recorder } = makeRecorder();
    for (let index = 0; index < 500; index++) recorder.record(onLease(`lease-${index}`));
    await clock.advance(LINGER_MS);
    expect(requests).toHaveLength(100);
    await clock.advance(10_000);
    expect(requests).toHaveLength(300);
    await clock.advance(10_000);
    expect(requests).toHaveLength(500);
  });

  test('that continues while the server hangs is dropped and counted, not kept', async () => {
    const { clock, requests, results, recorder } = makeRecorder(() => new Promise(() => {}));
    for (let index = 0; index < 1500; index++) recorder.record(onLease(`lease-${index}`));
    await clock.advance(LINGER_MS);
    expect(requests).toHaveLength(1);
    expect(results).toEqual(Array.from({ length: 500 }, () => 'dropped'));
  });

  test('on one Lease is dropped beyond its share', async () => {
    const { clock, results, recorder } = makeRecorder();
    for (let index = 0; index < 40; index++) recorder.record(makeLeaseEvent());
    await clock.advance(LINGER_MS);
    expect(results.filter((result) => result === 'dropped')).toHaveLength(15);
    expect(results.filter((result) => result === 'written')).toHaveLength(25);
  });
});

describe('a storm in one namespace', () => {
  const inNamespace = (namespace: string, name: string) =>
    makeLeaseEvent({ lease: { ...makeLeaseEvent().lease, namespace, name } });
  const written = (requests: readonly ApiRequest[], namespace: string) =>
    requests.filter(({ path }) => path.includes(`/${namespace}/`)).length;

  test('drops its own Events, and none of another namespace, if too many wait', async () => {
    const { clock, requests, results, recorder } = makeRecorder();
    for (let index = 0; index < 3000; index++) recorder.record(inNamespace('noisy', `lease-${index}`));
    for (let index = 0; index < 50; index++) recorder.record(inNamespace('quiet', `lease-${index}`));
    await clock.advance(LINGER_MS);
    expect(written(requests, 'quiet')).toBe(50);
    await clock.advance(60_000);
    expect(written(requests, 'noisy')).toBe(950);
    expect(results.filter((result) => result === 'dropped')).toHaveLength(2050);
  });

  test('of 120,000 Events within a minute delays other namespaces by no more than their turn', async () => {
    const { clock, requests, results, recorder } = makeRecorder();
    const waits: number[] = [];
    for (let at = 0; at < 60_000; at++) {
      for (let of = 0; of < 2; of++) recorder.record(inNamespace('noisy', `l${2 * at + of}`));
      const namespace = `quiet-${at}`;
      if (at % 1000 === 500) recorder.record(inNamespace(namespace, 'a'));
      const before = requests.length;
      await clock.advance(1);
      for (const { path } of requests.slice(before)) {
        const asked = /quiet-(\d+)/.exec(path)?.[1];
        if (asked !== undefined) waits.push(clock.now() - Number(asked));
      }
    }
    expect(waits).toHaveLength(60);
    const [first, ...others] = waits;
    expect(first).toBeLessThanOrEqual(LINGER_MS);
    expect(Math.max(...others)).toBeLessThanOrEqual(101);
    expect(results.filter((result) => result === 'written').length).toBeLessThanOrEqual(100 + 20 * 60);
  });

  test('lets an Event of another namespace come next, for any number of waiting ones', async () => {
    const { clock, requests, recorder } = makeRecorder();
    for (let index = 0; index < 500; index++) recorder.record(inNamespace('noisy', `lease-${index}`));
    await clock.advance(LINGER_MS + 10_000);
    expect(requests).toHaveLength(300);
    recorder.record(inNamespace('quiet', 'lease'));
    await clock.advance(100);
    expect(written(requests, 'quiet')).toBe(1);
  });
});

describe('a recorder that is stopped', () => {
  test('writes the waiting Events, and accepts no more', async () => {
    const { clock, requests, results, recorder } = makeRecorder();
    for (const name of ['one', 'two', 'three']) recorder.record(onLease(name));
    await recorder.stop();
    expect(results).toEqual(['written', 'written', 'written']);
    recorder.record(onLease('four'));
    await clock.advance(1000);
    expect(requests).toHaveLength(3);
    expect(results.at(-1)).toBe('dropped');
    expect(clock.pendingTimers).toBe(0);
  });

  test('aborts the write in flight after 2 s, and drops the others', async () => {
    const { clock, requests, failures, results, recorder } = makeRecorder(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () =>
            reject(new ConnectionError('aborted', { code: 'ABORTED' })),
          );
        }),
    );
    for (const name of ['one', 'two', 'three']) recorder.record(onLease(name));
    let hasStopped = false;
    const stopped = recorder.stop().then(() => {
      hasStopped = true;
    });
    await clock.advance(1999);
    expect(hasStopped).toBe(false);
    await clock.advance(1);
    await stopped;
    expect(requests).toHaveLength(1);
    expect(failures).toEqual([]);
    expect(results).toEqual(['failed', 'dropped', 'dropped']);
  });

  test('continues at a rate that the server can bear', async () => {
    const { clock, requests, results, recorder } = makeRecorder();
    for (let index = 0; index < 200; index++) recorder.record(onLease(`lease-${index}`));
    const stopped = recorder.stop();
    await clock.advance(2000);
    await stopped;
    // A hundred at once, and twenty per second; the last one is due just as its time is over.
    expect(requests).toHaveLength(139);
    expect(results.filter((result) => result === 'dropped')).toHaveLength(61);
  });
});

/** Writes an Event. Returns how often it has been written so far. */
function write(correlator: ReturnType<typeof createEventCorrelator>, event: LeaseEvent): number {
  const count = (correlator.repeatedBy(event)?.count ?? 0) + 1;
  correlator.written(event, 'event', count);
  return count;
}

describe('equal Events', () => {
  test('are counted up in one', () => {
    const correlator = createEventCorrelator();
    expect([1, 2, 3].map(() => write(correlator, makeLeaseEvent()))).toEqual([1, 2, 3]);
  });

  test('are written again when the server has forgotten the first', () => {
    const correlator = createEventCorrelator();
    write(correlator, makeLeaseEvent());
    correlator.gone(makeLeaseEvent());
    expect(write(correlator, makeLeaseEvent())).toBe(1);
  });

  test.each<{ name: string; other: Partial<LeaseEvent> }>([
    { name: 'message', other: { message: 'b leads' } },
    { name: 'reason', other: { reason: 'LeaderPreempted' } },
    { name: 'type', other: { type: 'Warning' } },
    { name: 'Lease', other: { lease: { ...makeLeaseEvent().lease, name: 'other' } } },
    { name: 'namespace', other: { lease: { ...makeLeaseEvent().lease, namespace: 'other' } } },
    {
      name: 'uid, because the Lease was created again,',
      other: { lease: { ...makeLeaseEvent().lease, uid: 'new' } },
    },
  ])('do not include those with another $name', ({ other }) => {
    const correlator = createEventCorrelator();
    write(correlator, makeLeaseEvent());
    expect(write(correlator, makeLeaseEvent(other))).toBe(1);
  });

  test('may have any resourceVersion of the Lease', () => {
    const correlator = createEventCorrelator();
    write(correlator, makeLeaseEvent());
    const lease = { ...makeLeaseEvent().lease, resourceVersion: '99' };
    expect(write(correlator, makeLeaseEvent({ lease }))).toBe(2);
  });
});

test('a Lease may have 25 Events at once, and then one every five minutes; others are not affected', () => {
  const correlator = createEventCorrelator();
  const admitted = (at: number, count: number, name = 'scheduler') =>
    Array.from({ length: count }, () =>
      correlator.admits(makeLeaseEvent({ lease: { ...makeLeaseEvent().lease, name } }), at),
    ).filter(Boolean).length;
  expect(admitted(0, 100)).toBe(25);
  expect(admitted(0, 100, 'other')).toBe(25);
  expect(admitted(299_000, 10)).toBe(0);
  expect(admitted(300_000, 10)).toBe(1);
  expect(admitted(24 * 3_600_000, 100)).toBe(25);
});

describe('a token bucket', () => {
  const rate = { burst: 2, perSecond: 4 };
  test.each([
    { name: 'is full at first', takes: [0, 0], wantWaits: [0, 0] },
    { name: 'returns how long to wait when it is empty', takes: [0, 0, 0, 100], wantWaits: [0, 0, 250, 150] },
    { name: 'has waited for the returned time', takes: [0, 0, 0, 250, 250], wantWaits: [0, 0, 250, 0, 250] },
    { name: 'holds no more than its burst', takes: [0, 60_000, 60_000, 60_000], wantWaits: [0, 0, 0, 250] },
  ])('$name', ({ takes, wantWaits }) => {
    const takeToken = createTokenBucket(rate, 0);
    expect(takes.map((at) => takeToken(at))).toEqual(wantWaits);
  });

  test('gives its full rate for any times of requests', () => {
    const takeToken = createTokenBucket({ burst: 1, perSecond: 1 / 300 }, 0);
    for (const at of [0, 0.1, 7.3, 1234.567, 299_999]) takeToken(at);
    expect(takeToken(299_999)).toBe(1);
    expect(takeToken(300_000)).toBe(0);
  });
});

test('a map of recent entries forgets the oldest', () => {
  const map = createRecentMap<number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  map.set('c', 4);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4]);
  map.delete('a');
  expect(map.get('a')).toBeUndefined();
});
