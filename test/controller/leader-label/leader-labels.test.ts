import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../../src/controller/election-records.ts';
import { LeaderLabels } from '../../../src/controller/leader-label/leader-labels.ts';
import { leaseKey } from '../../../src/coordination/lease-key.ts';
import { sleep } from '../../../src/support/clock.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../../support/election-builders.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { SimPods } from './sim-pods.ts';

const NAMESPACE = 'kube-system';
const KEY = leaseKey(NAMESPACE, 'scheduler');

/** A coordinator that sees one Lease and its candidates, each with a Pod of the same name. */
class LabelWorld {
  readonly clock = new VirtualClock();
  readonly pods = new SimPods();
  readonly records = new ElectionRecords(defaultSettings);
  readonly told: string[] = [];
  mayWrite = true;
  knows = true;
  readonly labels = new LeaderLabels({
    client: this.pods,
    clock: this.clock,
    namespaces: [],
    mayWrite: () => this.mayWrite,
    knows: () => this.knows,
    gather: (key) => this.records.gatherHolder(key),
    leases: () => this.records.coordinatedLeases(),
    observe: (event) => {
      if (event.type === 'labelWritten') {
        const { write, error } = event;
        this.told.push(`${write.kind} ${write.pod.name}${error === undefined ? '' : ' failed'}`);
      } else if (event.type === 'labelsListed')
        this.told.push(event.error === undefined ? 'listed' : 'list failed');
      else this.told.push(`unlabelable ${event.key}`);
    },
  });

  constructor() {
    for (const name of ['a', 'b']) {
      const { uid } = this.pods.create(NAMESPACE, name);
      const candidate = makeCandidate(name).with({ pod: { name, uid } }).build();
      this.records.seeCandidate(candidate, makeNow(0), false);
    }
  }

  async start(): Promise<this> {
    this.labels.setActive(true);
    await this.clock.advance(0);
    return this;
  }

  /** `holder` has just renewed the Lease; without a holder, the Lease is released. */
  async see(holder: string | undefined, isRenewalOnly = false): Promise<void> {
    const now = this.clock.now();
    const lease = makeLease(holder).renewedAt(now).with({ acquireTime: undefined });
    const seen = holder === undefined ? makeLease().releasedAt(now) : lease;
    this.records.seeLease(KEY, seen.build(), makeNow(now));
    this.labels.seen(KEY, isRenewalOnly);
    await this.clock.advance(0);
  }
}

describe('the leader label', () => {
  test('follows the leader: it is removed from the old Pod before it is put on the new one', async () => {
    const world = await new LabelWorld().start();
    await world.see('a');
    expect(world.pods.labelled()).toEqual(['a']);
    await world.see('b');
    expect(world.pods.labelled()).toEqual(['b']);
    expect(world.told).toEqual(['listed', 'add a', 'remove a', 'add b']);
  });

  test('is removed at the moment when the Lease expires', async () => {
    const world = await new LabelWorld().start();
    await world.see('a');
    await world.clock.advance(4000);
    await world.see('a', true);
    await world.clock.advance(9999);
    expect(world.pods.labelled()).toEqual(['a']);
    await world.clock.advance(1);
    expect(world.pods.labelled()).toEqual([]);
  });

  test('is removed from a Pod that gets it while this process becomes the coordinator again', async () => {
    const world = await new LabelWorld().start();
    const { request } = world.pods;
    // The server carries the write out after 3 s.
    world.pods.request = async (call) => {
      if (call.method === 'PATCH') await sleep(world.clock, 3000);
      return request.call(world.pods, call);
    };
    await world.see('a');
    world.labels.setActive(false);
    world.labels.setActive(true);
    await world.clock.advance(1000);
    await world.see('b');
    await world.clock.advance(10_000);
    await world.see('b');
    expect(world.pods.labelled()).toEqual(['b']);
  });

  test('is removed when the Lease is released', async () => {
    const world = await new LabelWorld().start();
    await world.see('a');
    await world.see(undefined);
    expect(world.pods.labelled()).toEqual([]);
  });

  test('costs no request while its holder renews', async () => {
    const world = await new LabelWorld().start();
    await world.see('a');
    const before = world.pods.requests.length;
    for (let second = 0; second < 60; second += 2) {
      await world.clock.advance(2000);
      await world.see('a', true);
    }
    expect(world.pods.requests.length).toBe(before);
    expect(world.pods.labelled()).toEqual(['a']);
  });

  test('is not put on another Pod with the same name, and this is not retried', async () => {
    const world = await new LabelWorld().start();
    world.pods.replace(NAMESPACE, 'a');
    for (let second = 0; second < 60; second += 2) {
      await world.see('a', second > 0);
      await world.clock.advance(2000);
    }
    expect(world.pods.labelled()).toEqual([]);
    expect(world.pods.requests.filter((request) => request.startsWith('PATCH'))).toHaveLength(1);
  });
});

describe('leftover labels', () => {
  test('are removed from Pods that do not lead, when the lock is acquired', async () => {
    const world = new LabelWorld();
    world.pods.label(NAMESPACE, 'a', 'scheduler');
    world.pods.label(NAMESPACE, 'b', 'scheduler');
    world.pods.label(NAMESPACE, 'b', 'long-gone');
    world.records.seeLease(KEY, makeLease('a').with({ acquireTime: undefined }).build(), makeNow(0));
    await world.start();
    expect(world.pods.labelled()).toEqual(['a']);
    expect(world.pods.labelled('long-gone')).toEqual([]);
    expect(world.told).not.toContain('remove a');
  });

  test('are listed before any label is written', async () => {
    const world = new LabelWorld();
    world.pods.refuse = (method) => (method === 'GET' ? 403 : undefined);
    await world.start();
    await world.see('a');
    await world.clock.advance(5000);
    expect(world.pods.labelled()).toEqual([]);
    expect(world.told).toContain('list failed');
    world.pods.refuse = () => undefined;
    for (let renewal = 0; renewal < 2; renewal++) {
      await world.see('a', true);
      await world.clock.advance(5000);
    }
    expect(world.pods.labelled()).toEqual(['a']);
  });

  test('stay until all Leases and candidates are known', async () => {
    const world = new LabelWorld();
    world.pods.label(NAMESPACE, 'a', 'scheduler');
    world.knows = false;
    await world.start();
    await world.clock.advance(20_000);
    expect(world.pods.labelled()).toEqual(['a']);
    world.knows = true;
    await world.clock.advance(5000);
    expect(world.pods.labelled()).toEqual([]);
  });
});

describe('without the lock', () => {
  test('no label is written, and labels that another coordinator has written are found later', async () => {
    const world = await new LabelWorld().start();
    await world.see('a');
    world.labels.setActive(false);
    world.mayWrite = false;
    const before = world.pods.requests.length;
    await world.see('b');
    await world.clock.advance(60_000);
    expect(world.pods.requests.length).toBe(before);
    world.pods.label(NAMESPACE, 'b', 'scheduler');
    await world.see('b');
    world.mayWrite = true;
    world.labels.setActive(true);
    await world.clock.advance(0);
    expect(world.pods.labelled()).toEqual(['b']);
  });
});

test('leftover labels are searched again if the lock was not held yet', async () => {
  const world = new LabelWorld();
  world.pods.label(NAMESPACE, 'b', 'scheduler');
  world.mayWrite = false;
  await world.start();
  expect(world.pods.requests).toEqual([]);
  world.mayWrite = true;
  await world.clock.advance(5000);
  expect(world.pods.labelled()).toEqual([]);
});

describe('a label that cannot be written', () => {
  test('is retried with backoff, however often its Lease is renewed', async () => {
    const world = await new LabelWorld().start();
    world.pods.refuse = (method) => (method === 'PATCH' ? 500 : undefined);
    for (let second = 0; second < 120; second += 1) {
      await world.see('a', second > 0);
      await world.clock.advance(1000);
    }
    const tries = world.told.filter((line) => line === 'add a failed').length;
    expect(tries).toBeGreaterThan(4);
    expect(tries).toBeLessThan(15);
    world.pods.refuse = () => undefined;
    for (let second = 0; second < 60; second += 1) {
      await world.see('a', true);
      await world.clock.advance(1000);
    }
    expect(world.pods.labelled()).toEqual(['a']);
  });

  test('and may exist is removed before another Pod gets it', async () => {
    const world = await new LabelWorld().start();
    world.pods.loseAnswers = true;
    await world.see('a');
    expect(world.told).toContain('add a failed');
    expect(world.pods.labelled()).toEqual(['a']);
    world.pods.loseAnswers = false;
    await world.see('b');
    await world.clock.advance(2000);
    expect(world.pods.labelled()).toEqual(['b']);
    expect(world.told.slice(-2)).toEqual(['remove a', 'add b']);
  });

  test('because it is too long is reported once', async () => {
    const world = await new LabelWorld().start();
    const name = 'x'.repeat(64);
    const key = leaseKey(NAMESPACE, name);
    const pod = { name: 'a', uid: world.pods.uidOf(NAMESPACE, 'a') };
    world.records.seeCandidate(makeCandidate('a').with({ leaseName: name, pod }).build(), makeNow(0), false);
    for (let second = 0; second < 10; second += 2) {
      const lease = makeLease('a')
        .with({ name, acquireTime: undefined })
        .renewedAt(second * 1000);
      world.records.seeLease(key, lease.build(), makeNow(second * 1000));
      world.labels.seen(key, second > 0);
      await world.clock.advance(2000);
    }
    expect(world.told).toEqual(['listed', `unlabelable ${key}`]);
  });

  test('because it is too long is reported again for a Lease that was deleted and created while another coordinated', async () => {
    const world = await new LabelWorld().start();
    const name = 'x'.repeat(64);
    const key = leaseKey(NAMESPACE, name);
    const pod = { name: 'a', uid: world.pods.uidOf(NAMESPACE, 'a') };
    const candidate = makeCandidate('a').with({ leaseName: name, pod }).build();
    const see = async (isThere: boolean) => {
      const now = world.clock.now();
      const lease = makeLease('a').with({ name, acquireTime: undefined }).renewedAt(now).build();
      world.records.seeLease(key, isThere ? lease : undefined, makeNow(now));
      if (isThere) world.records.seeCandidate(candidate, makeNow(now));
      else world.records.dropCandidate(candidate, makeNow(now));
      world.labels.seen(key, false);
      await world.clock.advance(2000);
    };
    await see(true);
    await see(true);
    world.labels.setActive(false);
    await see(false);
    world.labels.setActive(true);
    await world.clock.advance(60_000);
    await see(true);
    await see(true);
    expect(world.told).toEqual(['listed', `unlabelable ${key}`, 'listed', `unlabelable ${key}`]);
  });
});

test('no work continues after a stop', async () => {
  const world = await new LabelWorld().start();
  await world.see('a');
  await world.labels.stop();
  await world.see('b');
  expect(world.pods.labelled()).toEqual(['a']);
  expect(world.clock.pendingTimers).toBe(0);
});
