import { describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/kubernetes/client.ts';
import type { SimFate } from '../simulation/sim-connection.ts';
import { ControllerWorld, isLeaseWrite, isPing } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const NOTHING = { entries: 0, closed: 0, memories: 0 };
const LEASES = 1000;

/** A Lease with one candidate appears and disappears. By then, all memories of it have expired. */
async function flush(world: ControllerWorld): Promise<void> {
  await world.clock.advance(60_000);
  world.create('leasecandidates', makeCandidateObject('last', { leaseName: 'last' }));
  world.remove('leasecandidates', 'default/last');
  await world.clock.advance(60_000);
}

describe('the controller forgets a Lease that is deleted with its candidates', () => {
  const slow = (isSlow: (request: ApiRequest) => boolean, outcome?: number) => (request: ApiRequest) =>
    isSlow(request) ? { answerMs: 100, ...(outcome !== undefined && { outcome }) } : {};
  const cases: readonly {
    name: string;
    renewedAgoMs: number;
    fate: (request: ApiRequest) => SimFate;
  }[] = [
    { name: 'a ping is under way', renewedAgoMs: 60_000, fate: slow(isPing) },
    { name: 'a ping is under way that fails', renewedAgoMs: 60_000, fate: slow(isPing, 500) },
    { name: 'a ping is under way that is refused', renewedAgoMs: 60_000, fate: slow(isPing, 422) },
    { name: 'a grant is under way', renewedAgoMs: 0, fate: slow(isLeaseWrite) },
    { name: 'a grant is under way that fails', renewedAgoMs: 0, fate: slow(isLeaseWrite, 500) },
  ];

  test.each(cases)('while $name', async ({ renewedAgoMs, fate }) => {
    const world = await new ControllerWorld({ workers: 32 }).start();
    world.fate = fate;
    for (let lease = 0; lease < LEASES; lease++) {
      const renewedAt = world.clock.now() - renewedAgoMs;
      const name = `c-${lease}`;
      world.create('leasecandidates', makeCandidateObject(name, { renewedAt, leaseName: `l-${lease}` }));
      await world.clock.advance(0);
      expect(world.controller.scheduler.room.inFlight).toBe(1);
      world.remove('leasecandidates', `default/${name}`);
      world.remove('leases', `default/l-${lease}`);
      await world.clock.advance(300);
    }
    await flush(world);
    expect(world.controller.kept).toEqual(NOTHING);
  });

  test('while a grant is in flight that the watch shows after the answer, except the belief of its holder', async () => {
    const world = await new ControllerWorld().start();
    world.fate = (request) => {
      if (!isLeaseWrite(request)) return {};
      world.watchDelayMs = 120;
      return { answerMs: 100 };
    };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    world.watchDelayMs = 0;
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(110);
    expect(world.controller.kept).toEqual({ ...NOTHING, memories: 1 });
    await world.clock.advance(10);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 120 }));
    // The watch has shown the grant, and its holder is not a candidate any more (rule 12).
    await world.clock.advance(1000);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'b' });
    world.remove('leasecandidates', 'default/b');
    world.remove('leases', 'default/scheduler');
    await flush(world);
    expect(world.controller.kept).toEqual(NOTHING);
  });

  test('while its creation is refused because it exists, except that an unseen holder may lead', async () => {
    const world = await new ControllerWorld().start();
    let isCreated = false;
    world.fate = (request) => {
      if (!isLeaseWrite(request) || isCreated) return {};
      isCreated = true;
      world.watchDelayMs = 60_000;
      world.create('leases', makeLeaseObject('another', 0));
      world.watchDelayMs = 0;
      return {};
    };
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    expect(world.ourWriteLines).toEqual(['POST leases default/scheduler 409']);
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(0);
    // The Lease is deleted unseen: no watch shows it, and the next list does not contain it.
    world.remove('leases', 'default/scheduler');
    world.api.forgetHistory();
    world.connection.breakWatches();
    await world.clock.advance(2000);
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000 }));
    await world.clock.advance(1000);
    expect(world.decisions.at(-1)).toBe('default/scheduler AwaitingFormerHolder');
    world.remove('leasecandidates', 'default/b');
    await flush(world);
    expect(world.controller.kept).toEqual(NOTHING);
  });

  test('while it waited for a free slot, and the lock was lost', async () => {
    const world = await new ControllerWorld({ workers: 1 }).start();
    world.fate = (request) => (isPing(request) ? { answerMs: 3000 } : {});
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: -60_000, leaseName: 'first' }));
    await world.clock.advance(0);
    world.create('leases', makeLeaseObject('x', -60_000, {}, 'second'));
    world.create('leasecandidates', makeCandidateObject('b', { renewedAt: -60_000, leaseName: 'second' }));
    await world.clock.advance(0);
    world.mayWrite = false;
    world.remove('leasecandidates', 'default/b');
    await world.clock.advance(0);
    world.remove('leases', 'default/second');
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(3000);
    await flush(world);
    expect(world.controller.kept).toEqual(NOTHING);
  });

  test('while LeaseCandidates are not served', async () => {
    const world = await new ControllerWorld().start();
    const names = Array.from({ length: 100 }, (_, index) => `l-${index}`);
    for (const leaseName of names)
      world.create('leasecandidates', makeCandidateObject(leaseName, { renewedAt: 0, leaseName }));
    await world.clock.advance(1000);
    expect(world.controller.kept).toMatchObject({ entries: 100 });
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(60_000);
    for (const name of names) {
      world.remove('leases', `default/${name}`);
      world.remove('leasecandidates', `default/${name}`);
    }
    await world.clock.advance(60_000);
    world.api.candidateVersions = ['v1beta1'];
    await world.clock.advance(60_000);
    await flush(world);
    expect(world.controller.kept).toEqual(NOTHING);
  });
});
