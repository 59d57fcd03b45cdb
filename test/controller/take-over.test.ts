import { describe, expect, test } from 'vitest';
import type { ElectionControllerParts } from '../../src/controller/election-controller.ts';
import type { OwnLock } from '../../src/controller/lock/lock-record.ts';
import { defaultSettings } from '../support/election-builders.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const LOCK = 'kube-system/leader-election-controller';

/** A standby that sees a new candidate whose Lease the previous coordinator has not created. */
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
  test('elects at once if its watch shows its own lock: it has seen all writes of the former one', async () => {
    const world = await makeStandby();
    const own = takeLock(world);
    await world.clock.advance(0);
    world.mayWrite = true;
    world.controller.takeOver(own);
    await world.clock.advance(0);
    expect(holderOf(world)).toBe('a');
  });

  test('makes no decision until its watch shows its own lock', async () => {
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

  test('does not accept its own earlier record', async () => {
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

  test('does not accept the lock from a list', async () => {
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
    { name: 'because it was listed again after a gap', parts: {}, isRelisted: true },
    { name: 'as the lock is in no namespace that it watches', parts: { namespaces: ['default'] } },
    { name: 'because each namespace has its own watch', parts: { namespaces: ['default', 'kube-system'] } },
  ])(
    'creates a missing Lease 25 s later if it may have missed changes, $name',
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

  test('does not return a deleted Lease to its holder at once after a late watch: a list may hide a grant to another', async () => {
    const world = await makeStandby();
    world.create('leases', makeLeaseObject('a', world.clock.now()));
    await world.clock.advance(1000);
    world.watchDelayMs = 3000;
    world.renewLease('default/scheduler');
    await world.clock.advance(20);
    // Meanwhile, the former coordinator may have granted the Lease to another candidate.
    world.remove('leases', 'default/scheduler');
    const own = takeLock(world);
    world.mayWrite = true;
    world.controller.takeOver(own);
    // The watch shows the renewal of `a` after the take-over, and a list shows the deletion.
    await world.clock.advance(2990);
    world.watchDelayMs = 0;
    world.api.forgetHistory();
    world.connection.breakWatches();
    await world.clock.advance(500);
    world.renew('default/a');
    await world.clock.advance(5000);
    expect(world.decisions.at(-1)).toBe('default/scheduler AwaitingFormerHolder');
    expect(holderOf(world)).toBeUndefined();
  });

  test.each<{ name: string; isThere: boolean; leadsAfterMs: number }>([
    {
      name: 'after one duration if a coordinator existed before',
      isThere: true,
      leadsAfterMs: 15_000,
    },
    { name: 'at once if no coordinator ever existed', isThere: false, leadsAfterMs: 1000 },
  ])(
    'that has just started creates the Lease of a new candidate $name',
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
