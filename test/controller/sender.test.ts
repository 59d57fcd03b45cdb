import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { WriteQueue } from '../../src/controller/queue/write-queue.ts';
import { LockLostError, Sender } from '../../src/controller/sender.ts';
import { WriteBackoff } from '../../src/controller/write-backoff.ts';
import { WriteExpectations } from '../../src/controller/write-expectations.ts';
import { writtenBy } from '../../src/controller/written-objects.ts';
import { ackDueAt } from '../../src/election/candidate-observation.ts';
import { decideElection } from '../../src/election/decide.ts';
import type { Action } from '../../src/election/decision.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import { isKubernetesObject, type KubernetesObject } from '../../src/kubernetes/objects.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { makeLeaseObject } from './make-objects.ts';

const KEY = 'kube-system/scheduler';

/** What becomes of a request, and how long that takes. */
interface Fate {
  readonly afterMs?: number;
  readonly error?: unknown;
  readonly answer?: KubernetesObject;
}

/** A sender, and a server that does what a test says; it knows one candidate, `a`, which was heard of at instant 0. */
class SenderWorld {
  readonly clock = new VirtualClock();
  readonly records = new ElectionRecords(defaultSettings);
  readonly expectations = new WriteExpectations(this.clock, this.records);
  readonly backoff = new WriteBackoff(this.clock);
  readonly writes = new WriteQueue({ clock: this.clock, most: 16, serve: () => {} });
  /** What was told, in order: like `written ok`, `applied UpdateLease`, `ended`. */
  readonly told: string[] = [];
  fate: Fate = {};
  mayWrite = true;
  sent = 0;
  readonly sender: Sender;

  constructor() {
    this.records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    this.sender = new Sender({
      clock: this.clock,
      settings: defaultSettings,
      records: this.records,
      expectations: this.expectations,
      backoff: this.backoff,
      writes: this.writes,
      mayWrite: () => this.mayWrite,
      writer: { write: () => this.#answer() },
      observer: {
        decided: () => {},
        heldBack: () => {},
        written: (_key, _action, error) => {
          this.told.push(`written ${error === undefined ? 'ok' : (error as Error).name}`);
        },
        applied: (_key, { actions }) => this.told.push(`applied ${actions.map(({ kind }) => kind).join()}`),
        forgotten: () => {},
      },
      onEnded: () => this.told.push(`ended, ${this.writes.underWay} under way`),
    });
  }

  get observation() {
    return this.records.observed(KEY, 'a')?.observation;
  }

  async send(action: Action): Promise<void> {
    const input = this.records.gather(KEY);
    this.sender.send(KEY, action, decideElection(input, makeNow(this.clock.now())), input);
    await this.clock.advance(0);
  }

  #answer(): Promise<KubernetesObject | undefined> {
    const { afterMs = 0, error, answer } = this.fate;
    this.sent++;
    return new Promise((resolve, reject) => {
      const end = () => (error === undefined ? resolve(answer) : reject(error));
      this.clock.setTimer(end, afterMs);
    });
  }
}

const ping: Action = {
  kind: 'PingCandidate',
  source: 'native',
  name: 'a',
  uid: 'uid-of-a',
  resourceVersion: '1',
  pingTime: 1n,
  purpose: 'election',
};
const clearPreferredHolder: Action = {
  kind: 'UpdateLease',
  uid: 'uid-of-scheduler',
  resourceVersion: '1',
  change: { kind: 'clearPreferredHolder', hasFailed: false },
};

function apiError(status: number, retryAfterMs?: number): ApiError {
  return new ApiError({ method: 'PATCH', path: '/somewhere', status, message: 'no', retryAfterMs });
}

let world: SenderWorld;

beforeEach(() => {
  world = new SenderWorld();
});

describe('a ping', () => {
  test('that the server takes its time to write has its own time from then on, and that much more (rule 9)', async () => {
    world.fate = { afterMs: 3000 };
    await world.send(ping);
    expect(world.observation?.ping).toMatchObject({ sentAt: 0, deliveredAt: undefined });
    await world.clock.advance(2999);
    expect(world.observation?.ping?.deliveredAt).toBeUndefined();
    await world.clock.advance(1);
    const sent = world.observation?.ping;
    expect(sent).toMatchObject({ purpose: 'election', sentAt: 0, deliveredAt: 3000 });
    expect(sent && ackDueAt(sent, defaultSettings)).toBe(3000 + 5000 + 3000);
    // The seconds after which more are asked are counted from then on as well.
    expect(world.records.gather(KEY).memory.askingSince).toBe(3000);
  });

  test('of a round that did not get through has the next round come soon, and not in a minute', async () => {
    world.records.updateMemory(KEY, (memory) => ({ ...memory, rounds: { count: 7, lastAt: -1000 } }));
    await world.send({ ...ping, purpose: 'revival' });
    expect(world.records.gather(KEY).memory.rounds).toEqual({ count: 7, lastAt: -1000 });
    world.fate = { error: apiError(409) };
    await world.clock.advance(2000);
    await world.send({ ...ping, purpose: 'revival' });
    expect(world.records.gather(KEY).memory.rounds).toEqual({ count: 1, lastAt: 2000 });
  });

  test.each([
    { name: 'failed', error: apiError(500), wantPing: false },
    {
      name: 'may or may not have arrived',
      error: new ConnectionError('reset', { code: 'ECONNRESET' }),
      wantPing: false,
    },
    { name: 'came too late', error: apiError(409), wantPing: false },
    { name: 'is refused for good', error: apiError(422), wantPing: true },
  ])('that $name counts as delivered: $wantPing', async ({ error, wantPing }) => {
    world.fate = { error };
    await world.send(ping);
    expect(world.observation?.ping?.deliveredAt).toBe(wantPing ? 0 : undefined);
    expect(world.observation?.ping === undefined).toBe(!wantPing);
  });
});

describe('what came of an action', () => {
  test('is told before anything else is decided about the Lease', async () => {
    world.records.seeLease(KEY, makeLease('a').preferring('b').build(), makeNow(0));
    const answer = makeLeaseObject('a', 0);
    world.fate = { afterMs: 10, ...(isKubernetesObject(answer) && { answer }) };
    await world.send(clearPreferredHolder);
    expect(world.expectations.waitUntil(KEY, writtenBy(clearPreferredHolder))).toBe(Number.POSITIVE_INFINITY);
    await world.clock.advance(10);
    expect(world.told).toEqual(['written ok', 'applied UpdateLease', 'ended, 0 under way']);
    // The cache still shows what the write was based on.
    expect(world.expectations.waitUntil(KEY, writtenBy(clearPreferredHolder))).toBe(10 + 10_000);
  });

  test('is not told as applied for a ping, which changes nothing that others go by', async () => {
    await world.send(ping);
    expect(world.told).toEqual(['written ok', 'ended, 0 under way']);
  });

  test.each([
    { name: 'a candidate', action: ping },
    { name: 'the Lease', action: clearPreferredHolder },
  ])(
    'by the wish of the server keeps $name from being written for as long as that says',
    async ({ action }) => {
      world.fate = { error: apiError(429, 7000) };
      await world.send(action);
      expect(world.told).toEqual(['written ApiError', 'ended, 0 under way']);
      expect(world.backoff.retryAt(KEY, writtenBy(action))).toBe(7000);
      expect(world.expectations.waitUntil(KEY, writtenBy(action))).toBeUndefined();
    },
  );

  test.each([
    { name: 'overloaded', error: apiError(429), want: 12 },
    { name: 'broken', error: apiError(503), want: 12 },
    { name: 'out of reach', error: new ConnectionError('refused', { code: 'ECONNREFUSED' }), want: 12 },
    { name: 'ahead of us', error: apiError(409), want: 16 },
    { name: 'of another opinion', error: apiError(403), want: 16 },
  ])('by a server that is $name leaves room for $want requests', async ({ error, want }) => {
    world.fate = { error };
    await world.send(ping);
    expect(world.writes.limit).toBe(want);
  });

  test('is nothing when the lock was lost meanwhile: nothing is sent, and nothing held against anybody', async () => {
    world.mayWrite = false;
    await world.send(ping);
    expect(world.sent).toBe(0);
    expect(world.told).toEqual([`written ${new LockLostError().name}`, 'ended, 0 under way']);
    expect(world.observation?.ping).toBeUndefined();
    expect(world.writes.limit).toBe(16);
  });
});
