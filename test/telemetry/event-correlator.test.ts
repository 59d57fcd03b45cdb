import { describe, expect, test } from 'vitest';
import { createEventCorrelator, type EventCorrelator } from '../../src/telemetry/event-correlator.ts';
import type { LeaseEvent } from '../../src/telemetry/lease-event.ts';
import { createRecentMap } from '../../src/telemetry/recent-map.ts';
import { fullBucket, takeToken } from '../../src/telemetry/token-bucket.ts';
import { makeLeaseEvent } from './make-lease-event.ts';

function writeAt(correlator: EventCorrelator, event: LeaseEvent, at = 0) {
  const { key, message, repeated } = correlator.correlate(event, at);
  const written = { name: repeated?.name ?? `event of ${message}`, count: (repeated?.count ?? 0) + 1 };
  correlator.written(key, written);
  return { message, ...written };
}

describe('Events that are the same', () => {
  test('are counted up in one', () => {
    const correlator = createEventCorrelator();
    expect([1, 2, 3].map(() => writeAt(correlator, makeLeaseEvent()).count)).toEqual([1, 2, 3]);
  });

  test('are written anew when the server has forgotten the first', () => {
    const correlator = createEventCorrelator();
    writeAt(correlator, makeLeaseEvent());
    correlator.gone(correlator.correlate(makeLeaseEvent(), 0).key);
    expect(writeAt(correlator, makeLeaseEvent()).count).toBe(1);
  });

  test.each<{ name: string; other: Partial<LeaseEvent> }>([
    { name: 'message', other: { message: 'b leads' } },
    { name: 'reason', other: { reason: 'LeaderPreempted' } },
    { name: 'type', other: { type: 'Warning' } },
    { name: 'Lease', other: { lease: { ...makeLeaseEvent().lease, name: 'other' } } },
    { name: 'namespace', other: { lease: { ...makeLeaseEvent().lease, namespace: 'other' } } },
    { name: 'uid, as the Lease was made anew,', other: { lease: { ...makeLeaseEvent().lease, uid: 'new' } } },
  ])('are not those with another $name', ({ other }) => {
    const correlator = createEventCorrelator();
    writeAt(correlator, makeLeaseEvent());
    expect(writeAt(correlator, makeLeaseEvent(other)).count).toBe(1);
  });

  test('are the same whatever resourceVersion the Lease has', () => {
    const correlator = createEventCorrelator();
    writeAt(correlator, makeLeaseEvent());
    const lease = { ...makeLeaseEvent().lease, resourceVersion: '99' };
    expect(writeAt(correlator, makeLeaseEvent({ lease })).count).toBe(2);
  });
});

describe('Events that are alike', () => {
  const leads = (name: string) => makeLeaseEvent({ message: `${name} leads` });
  const names = Array.from({ length: 10 }, (_, index) => `candidate-${index}`);

  test('are combined from the eleventh message on, while those known go on being counted', () => {
    const correlator = createEventCorrelator();
    for (const name of names) expect(writeAt(correlator, leads(name)).count).toBe(1);
    expect(writeAt(correlator, leads('x'))).toMatchObject({
      message: '(combined from similar events): x leads',
      count: 1,
    });
    expect(writeAt(correlator, leads('y'))).toMatchObject({
      message: '(combined from similar events): y leads',
      count: 2,
    });
    expect(writeAt(correlator, leads('candidate-3'))).toMatchObject({
      message: 'candidate-3 leads',
      count: 2,
    });
  });

  test('are told apart again after ten quiet minutes', () => {
    const correlator = createEventCorrelator();
    for (const name of names) writeAt(correlator, leads(name));
    expect(writeAt(correlator, leads('x'), 600_000).message).toContain('combined');
    expect(writeAt(correlator, leads('y'), 1_200_001)).toMatchObject({ message: 'y leads', count: 1 });
  });

  test('of other Leases are no reason to combine', () => {
    const correlator = createEventCorrelator();
    for (const name of names) writeAt(correlator, leads(name));
    const lease = { ...makeLeaseEvent().lease, name: 'other' };
    expect(writeAt(correlator, makeLeaseEvent({ lease, message: 'x leads' })).message).toBe('x leads');
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
    { name: 'tells how long to wait when it is empty', takes: [0, 0, 0, 100], wantWaits: [0, 0, 250, 150] },
    { name: 'has waited for what it told', takes: [0, 0, 0, 250, 250], wantWaits: [0, 0, 250, 0, 250] },
    { name: 'holds no more than its burst', takes: [0, 60_000, 60_000, 60_000], wantWaits: [0, 0, 0, 250] },
  ])('$name', ({ takes, wantWaits }) => {
    let bucket = fullBucket(rate, 0);
    const waits = takes.map((at) => {
      const taken = takeToken(bucket, rate, at);
      bucket = taken.bucket;
      return taken.waitMs;
    });
    expect(waits).toEqual(wantWaits);
  });

  test('gives what it promised whenever that is asked for, fractions or not', () => {
    const slow = { burst: 1, perSecond: 1 / 300 };
    let { bucket } = takeToken(fullBucket(slow, 0), slow, 0);
    for (const at of [0.1, 7.3, 1234.567, 299_999]) bucket = takeToken(bucket, slow, at).bucket;
    const { waitMs } = takeToken(bucket, slow, 299_999);
    expect(waitMs).toBe(1);
    expect(takeToken(bucket, slow, 300_000).waitMs).toBe(0);
  });
});

test('a map of what is recent forgets what was set longest ago', () => {
  const map = createRecentMap<number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  map.set('c', 4);
  expect(['a', 'b', 'c'].map((key) => map.get(key))).toEqual([3, undefined, 4]);
  map.delete('a');
  expect(map.get('a')).toBeUndefined();
});
