import { beforeEach, describe, expect, test } from 'vitest';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { FENCE } from '../../src/election/model.ts';
import type { Lead } from '../../src/participant/term.ts';
import { specOf } from '../simulation/sim-api-server.ts';
import { SimProcess } from '../simulation/sim-process.ts';
import { ParticipantStage, untilAborted, whyOver } from './participant-stage.ts';

const CANDIDATE = 'default/one';

let stage: ParticipantStage;

beforeEach(() => {
  stage = new ParticipantStage();
});

describe('a participant whose server is down (rule 15)', () => {
  test('for less than the renew deadline keeps its term', async () => {
    const one = await stage.leading();
    await stage.clock.advance(3000);
    stage.api.isDown = true;
    await stage.clock.advance(8000);
    stage.api.isDown = false;
    await stage.clock.advance(10_000);
    expect(one.isLeading).toBe(true);
    expect(one.terms).toHaveLength(1);
  });

  test('for longer stops before its Lease expires, and leads with a new fencing token after the server is back', async () => {
    const one = await stage.leading();
    stage.api.isDown = true;
    await stage.clock.advance(9985);
    expect(one.isLeading).toBe(true);
    await stage.clock.advance(10);
    expect(whyOver(one.term)).toBe('lost');
    stage.api.isDown = false;
    await stage.clock.advance(5000);
    stage.grant('one');
    await stage.clock.advance(2100);
    expect(one.isLeading).toBe(true);
    expect(one.terms.map(({ fencingToken }) => fencingToken)).toEqual([0, 1]);
    expect(stage.lease['leaseTransitions']).toBe(1);
  });

  test('keeps its term when one renewal hangs', async () => {
    const one = await stage.leading();
    let isHanging = false;
    stage.fate = ({ method }) => {
      if (method !== 'PUT' || isHanging) return {};
      isHanging = true;
      return { outcome: 'dropped' };
    };
    await stage.clock.advance(20_000);
    expect(isHanging).toBe(true);
    expect(one.terms).toHaveLength(1);
    expect(one.isLeading).toBe(true);
  });

  test('leads with a new fencing token when the answer to its first renewal was lost', async () => {
    const one = await stage.started();
    let losses = 1;
    stage.fate = ({ method }) => (method === 'PUT' && losses-- > 0 ? { outcome: 'lost' } : {});
    stage.grant('one', { leaseTransitions: 3 });
    await stage.clock.advance(5500);
    expect(one.terms.map(({ fencingToken }) => fencingToken)).toEqual([4]);
  });
});

describe('a participant that does not know whether it still leads (rule 15)', () => {
  test.each([
    { leaseDurationMs: 15_000, renewDeadlineMs: 10_000 },
    { leaseDurationMs: 3000, renewDeadlineMs: 2600 },
    { leaseDurationMs: 3_600_000, renewDeadlineMs: 3_000_000 },
  ])(
    'is told to stop before another can lead, whose clock is 5 % fast while its own is 5 % slow: $leaseDurationMs ms',
    async (timing) => {
      const process = new SimProcess(stage.clock, { rate: 0.95 });
      const one = await stage.leading({ ...timing, clock: process });
      const began = stage.clock.now();
      stage.api.isDown = true;
      while (one.term.remainingMs() > 0) await stage.clock.advance(timing.leaseDurationMs / 1000);
      expect(stage.clock.now() - began).toBeLessThan(timing.leaseDurationMs / 1.05);
      expect(whyOver(one.term)).toBe('lost');
    },
  );

  test('reports that at once when its process wakes up late, and renews nothing', async () => {
    const one = await stage.leading();
    one.process.pause(60_000);
    await stage.clock.advance(13_000);
    expect(one.term.remainingMs()).toBeGreaterThan(0);
    await stage.clock.advance(3000);
    expect(one.term.remainingMs()).toBe(0);
    const writes = stage.leaseWrites.length;
    one.process.resume();
    await stage.clock.advance(60_000);
    expect(whyOver(one.term)).toBe('lost');
    expect(stage.leaseWrites).toHaveLength(writes);
  });

  test('does not renew a grant that it has seen expire', async () => {
    stage.fate = ({ method }) => (method === 'PUT' ? { outcome: 503 } : {});
    const one = await stage.started();
    stage.grant('one');
    await stage.clock.advance(10_100);
    stage.fate = () => ({});
    await stage.clock.advance(10_000);
    expect(one.terms).toHaveLength(0);
    stage.grant('one');
    await stage.clock.advance(10);
    expect(one.isLeading).toBe(true);
  });

  test('stops at once when the Lease is granted to another, and leaves it alone', async () => {
    const one = await stage.leading();
    const writes = stage.leaseWrites.length;
    stage.grant('two');
    await stage.clock.advance(0);
    expect(whyOver(one.term)).toBe('lost');
    expect(one.term.remainingMs()).toBe(0);
    await stage.clock.advance(60_000);
    expect(stage.leaseWrites).toHaveLength(writes);
  });

  test('stops at once when the Lease is fenced', async () => {
    const one = await stage.leading();
    stage.grant(FENCE);
    await stage.clock.advance(0);
    expect(whyOver(one.term)).toBe('lost');
  });

  test('stops when another has held the Lease in between', async () => {
    const one = await stage.leading();
    one.connection.holdWatches(true);
    stage.grant('two');
    stage.grant('one');
    one.connection.holdWatches(false);
    await stage.clock.advance(10);
    expect(one.terms.map(({ fencingToken }) => fencingToken)).toEqual([0, 2]);
  });

  test('continues when its Lease is deleted, and keeps its fencing token after the next grant', async () => {
    const one = await stage.leading();
    stage.grant('two');
    stage.grant('one');
    await stage.clock.advance(100);
    stage.deleteLease();
    await stage.clock.advance(3000);
    expect(one.isLeading).toBe(true);
    stage.grant('one');
    await stage.clock.advance(3000);
    expect(one.isLeading).toBe(true);
    expect(stage.lease['leaseTransitions']).toBe(one.term.fencingToken);
  });
});

test('a participant leads again after etcd was restored from a backup and leaseTransitions have decreased', async () => {
  const one = await stage.started();
  for (let turn = 0; turn < 3; turn++) stage.grant(`other-${turn}`);
  const restore = stage.api.store.backUp();
  for (let turn = 0; turn < 50; turn++) stage.grant(`another-${turn}`);
  stage.grant('one');
  await stage.clock.advance(3000);
  expect(one.term.fencingToken).toBe(53);
  restore();
  stage.api.forgetHistory();
  one.connection.breakWatches();
  await stage.clock.advance(30_000);
  expect(one.isLeading).toBe(false);
  stage.grant('one');
  await stage.clock.advance(100);
  expect(one.isLeading).toBe(true);
  expect(one.term.fencingToken).toBeGreaterThan(53);
  stage.ping();
  await stage.clock.advance(10);
  const { renewTime, pingTime } = specOf(stage.api.candidate(CANDIDATE));
  expect(String(renewTime) > String(pingTime)).toBe(true);
});

describe('a participant that is restarted', () => {
  test('leads at once under the same identity, with a new fencing token', async () => {
    const former = await stage.leading();
    await stage.clock.advance(5000);
    former.process.kill();
    await stage.clock.advance(1000);
    const one = await stage.started();
    expect(one.isLeading).toBe(true);
    expect(one.term.fencingToken).toBe(former.term.fencingToken + 1);
  });

  test('does not write a Lease that its own identity holds for the given time', async () => {
    const stage = new ParticipantStage();
    const former = await stage.leading();
    former.process.kill();
    const one = await stage.started({ resumeDelayMs: 5000 });
    await stage.clock.advance(4800);
    expect(one.terms).toEqual([]);
    await stage.clock.advance(200);
    expect(one.isLeading).toBe(true);
    expect(one.term.fencingToken).toBeGreaterThan(former.term.fencingToken);
  });

  test('does not release it in that time either, nor yield to another', async () => {
    const stage = new ParticipantStage();
    const former = await stage.leading();
    former.process.kill();
    stage.writeLease({ preferredHolder: 'two' });
    const one = await stage.started({ resumeDelayMs: 5000 });
    one.stopping.abort();
    await stage.clock.advance(4800);
    expect(stage.lease).toMatchObject({ holderIdentity: 'one' });
    await stage.clock.advance(200);
    expect(stage.lease).toMatchObject({ holderIdentity: '' });
    expect(one.outcome).toBe('resolved');
  });

  test('takes up a grant at once if it has not found the Lease under its own identity', async () => {
    const stage = new ParticipantStage();
    const one = await stage.leading({ resumeDelayMs: 5000 });
    expect(one.isLeading).toBe(true);
  });

  test('leads with a new fencing token after a second grant to the same identity, which does not raise leaseTransitions', async () => {
    const former = await stage.leading();
    former.process.kill();
    await stage.clock.advance(16_000);
    stage.grant('one');
    const one = await stage.started();
    expect(one.term.fencingToken).toBe(former.term.fencingToken + 1);
  });

  test('takes over from a process that still runs, which stops leading and logs why', async () => {
    const errors: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_: object, text: string) => errors.push(text),
    };
    const former = await stage.leading({ logger });
    const one = await stage.started();
    await stage.clock.advance(30_000);
    expect(one.isLeading).toBe(true);
    expect(former.isLeading).toBe(false);
    expect(errors).toEqual([expect.stringContaining('with the same identity')]);
    expect([...former.terms, ...one.terms]).toHaveLength(2);
    one.process.kill();
    await stage.clock.advance(16_000);
    // As the built-in coordinator grants: it does not touch acquireTime.
    stage.writeLease({ renewTime: formatMicroTime(stage.clock.wallTime()) });
    await stage.clock.advance(10);
    expect(former.isLeading).toBe(true);
  });
});

describe('a callback (rule 15)', () => {
  test('that throws ends the term: it releases, withdraws, and passes the error on', async () => {
    const error = new Error('broken');
    const one = await stage.leading({}, () => Promise.reject(error));
    await stage.clock.advance(10);
    expect(one.outcome).toBe(error);
    expect(one.term.signal.aborted).toBe(true);
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
  });

  test('that returns while it leads is done: the participant releases, withdraws and ends', async () => {
    const one = await stage.leading({}, () => stage.delay(3000));
    expect(one.isLeading).toBe(true);
    await stage.clock.advance(3100);
    expect(one.outcome).toBe('resolved');
    expect(stage.lease['holderIdentity']).toBe('');
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
  });

  test.each<[string, Lead]>([
    ['returns', untilAborted],
    ['throws the reason', async (term) => untilAborted(term).then(() => term.signal.throwIfAborted())],
    [
      'throws that it was aborted',
      async (term) => untilAborted(term).then(() => Promise.reject(new DOMException('', 'AbortError'))),
    ],
  ])('that %s after its term is called again for the next', async (_, lead) => {
    const one = await stage.leading({}, lead);
    stage.writeLease({ preferredHolder: 'two' });
    await stage.clock.advance(10);
    stage.grant('one', { preferredHolder: undefined, leaseTransitions: 4 });
    await stage.clock.advance(10);
    expect(one.terms).toHaveLength(2);
    expect(one.outcome).toBe('pending');
  });

  test('that fails after its term ends the participant', async () => {
    const error = new Error('cannot close');
    const one = await stage.leading({}, async (term) => untilAborted(term).then(() => Promise.reject(error)));
    stage.writeLease({ preferredHolder: 'two' });
    await stage.clock.advance(10);
    expect(one.outcome).toBe(error);
    expect(stage.lease['holderIdentity']).toBe('');
  });

  test('that continues after its term lets its Lease expire, and is no candidate until it ends', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const one = await stage.leading({}, async (term) => promise.then(() => untilAborted(term)));
    stage.writeLease({ preferredHolder: 'two' });
    await stage.clock.advance(14_000);
    expect(one.participant.state.role).toBe('ending');
    expect(stage.api.candidate(CANDIDATE)).toBeDefined();
    await stage.clock.advance(2000);
    expect(stage.lease['holderIdentity']).toBe('one');
    expect(stage.api.candidate(CANDIDATE)).toBeUndefined();
    stage.grant('one', { preferredHolder: undefined });
    await stage.clock.advance(5000);
    expect(one.terms).toHaveLength(1);
    resolve();
    await stage.clock.advance(100);
    expect(stage.api.candidate(CANDIDATE)).toBeDefined();
    expect(one.terms).toHaveLength(2);
  });
});
