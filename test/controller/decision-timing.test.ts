import { beforeEach, describe, expect, test } from 'vitest';
import type { ElectionControllerParts } from '../../src/controller/controller-parts.ts';
import { DecisionBudget } from '../../src/controller/decision-timing.ts';
import type { OwnLock } from '../../src/controller/lock/lock-record.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const LOCK = 'kube-system/leader-election-controller';

/** A standby that sees a new candidate, whose Lease the coordinator before it has not made. */
async function makeStandby(parts: Partial<ElectionControllerParts> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld(parts);
  world.mayWrite = false;
  await world.start();
  await world.clock.advance(100_000);
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: world.clock.now() }));
  await world.clock.advance(4000);
  return world;
}

/** The standby takes the lock. */
function takeLock(world: ControllerWorld): OwnLock {
  const lock = makeLeaseObject('ours', world.clock.now());
  const metadata = { namespace: 'kube-system', name: 'leader-election-controller' };
  world.create('leases', { ...lock, metadata });
  return { key: LOCK, holder: 'ours', renewTime: world.clock.wallTime() };
}

const holderOf = (world: ControllerWorld) => world.leaseSpec()['holderIdentity'];

describe('a coordinator that takes over from another one (rule 8)', () => {
  test('elects at once where its watch shows its own lock: it has seen all that the former one has done', async () => {
    const world = await makeStandby();
    const own = takeLock(world);
    await world.clock.advance(0);
    world.mayWrite = true;
    world.controller.takeOver(own);
    await world.clock.advance(0);
    expect(holderOf(world)).toBe('a');
  });

  test('decides nothing until its watch shows that', async () => {
    const world = await makeStandby();
    world.watchDelayMs = 300;
    const own = takeLock(world);
    world.mayWrite = true;
    world.controller.takeOver(own);
    await world.clock.advance(299);
    expect(world.decisions).toEqual([]);
    await world.clock.advance(1);
    expect(holderOf(world)).toBe('a');
  });

  test('takes no earlier record of its own for that', async () => {
    const world = await makeStandby();
    const { renewTime, ...own } = takeLock(world);
    await world.clock.advance(0);
    world.mayWrite = true;
    world.controller.takeOver({ ...own, renewTime: renewTime + 1n });
    await world.clock.advance(999);
    expect(world.decisions).toEqual([]);
    await world.clock.advance(1);
    expect(world.decisions).toEqual(['default/scheduler AwaitingFormerHolder']);
  });

  test('takes no lock that a list shows for that', async () => {
    const world = await makeStandby();
    world.watchDelayMs = 300;
    const own = takeLock(world);
    world.mayWrite = true;
    world.controller.takeOver(own);
    world.api.forgetHistory();
    world.connection.breakWatches();
    await world.clock.advance(900);
    expect(world.decisions).toEqual(['default/scheduler AwaitingFormerHolder']);
  });

  test.each<{ name: string; parts: Partial<ElectionControllerParts>; isRelisted?: true }>([
    { name: 'as it was listed anew after a gap', parts: {}, isRelisted: true },
    { name: 'as the lock is in no namespace that it watches', parts: { namespaces: ['default'] } },
    { name: 'as each namespace has a watch of its own', parts: { namespaces: ['default', 'kube-system'] } },
  ])(
    'makes a missing Lease 25 s later where something may have gone unseen, $name',
    async ({ parts, isRelisted }) => {
      const world = await makeStandby(parts);
      if (isRelisted) {
        world.api.forgetHistory();
        world.connection.breakWatches();
        await world.clock.advance(1000);
      }
      const own = takeLock(world);
      await world.clock.advance(0);
      world.mayWrite = true;
      world.controller.takeOver(own);
      await world.clock.advance(22_000);
      world.renew('default/a');
      await world.clock.advance(2999);
      expect(holderOf(world)).toBeUndefined();
      await world.clock.advance(1);
      expect(holderOf(world)).toBe('a');
    },
  );

  test.each<{ name: string; isThere: boolean; leadsAfterMs: number }>([
    {
      name: 'once one duration has passed where a coordinator has been before',
      isThere: true,
      leadsAfterMs: 15_000,
    },
    { name: 'at once where no coordinator has ever been', isThere: false, leadsAfterMs: 1000 },
  ])(
    'that has just started makes the Lease of a candidate that is as new $name',
    async ({ isThere, leadsAfterMs }) => {
      const world = new ControllerWorld({ settings: { ...defaultSettings, settleMs: 1000 } });
      if (isThere) takeLock(world);
      world.create('leasecandidates', makeCandidateObject('a', { renewedAt: world.clock.now() }));
      await world.start();
      await world.clock.advance(leadsAfterMs - 1000);
      world.renew('default/a');
      expect(holderOf(world)).toBeUndefined();
      await world.clock.advance(1100);
      expect(holderOf(world)).toBe('a');
    },
  );
});

const KEY = 'default/scheduler';

let clock: VirtualClock;
let budget: DecisionBudget;

beforeEach(() => {
  clock = new VirtualClock();
  budget = new DecisionBudget(clock);
});

/** How often the Lease is decided on when somebody asks for it every millisecond. */
async function decisionsWithin(ms: number, candidates: number): Promise<number> {
  let decisions = 0;
  for (let index = 0; index < ms; index++) {
    for (; budget.opensAt(KEY) === undefined && decisions < 100_000; decisions++)
      budget.spend(KEY, candidates);
    await clock.advance(1);
  }
  return decisions;
}

describe('a Lease that a client changes all the time', () => {
  test.each([
    { candidates: 3, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 10, wantAtOnce: 1000, wantPerSecond: 1000 },
    { candidates: 100, wantAtOnce: 100, wantPerSecond: 100 },
    { candidates: 1000, wantAtOnce: 10, wantPerSecond: 10 },
  ])('is decided on less often, the more candidates it has: $candidates', async (row) => {
    const atOnce = await decisionsWithin(1, row.candidates);
    expect(atOnce - row.wantAtOnce).toBeLessThanOrEqual(1);
    expect(atOnce).toBeGreaterThanOrEqual(row.wantAtOnce);
    const later = await decisionsWithin(2000, row.candidates);
    expect(later / 2).toBeCloseTo(row.wantPerSecond, -1);
  });

  test('says when it may be decided on again, and may at once when nobody asked for a while', async () => {
    for (let index = 0; index <= 100; index++) budget.spend(KEY, 100);
    expect(budget.opensAt(KEY)).toBe(10);
    await clock.advance(10);
    expect(budget.opensAt(KEY)).toBeUndefined();
    await clock.advance(10_000);
    expect(await decisionsWithin(1, 100)).toBe(101);
  });

  test('costs no other Lease anything, and is forgotten', async () => {
    await decisionsWithin(1, 100);
    expect(budget.opensAt(KEY)).toBeDefined();
    expect(budget.opensAt('default/other')).toBeUndefined();
    budget.forget(KEY);
    expect(budget.opensAt(KEY)).toBeUndefined();
    expect(budget.size).toBe(0);
  });
});
