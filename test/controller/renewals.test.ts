import { expect, test } from 'vitest';
import type { ElectionControllerParts } from '../../src/controller/election-controller.ts';
import type { Clock } from '../../src/support/clock.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const KEY = 'default/scheduler';

/** A controller of one settled Lease, which records its events and timers. */
async function makeWorld(parts: Partial<ElectionControllerParts> = {}) {
  const done: string[] = [];
  const clock: Clock = {
    now: () => world.clock.now(),
    wallTime: () => world.clock.wallTime(),
    random: () => world.clock.random(),
    setTimer(callback, delayMs) {
      done.push('setTimer');
      return world.clock.setTimer(callback, delayMs);
    },
  };
  const world: ControllerWorld = new ControllerWorld({
    clock,
    observe: ({ type }) => {
      if (type !== 'seen') done.push(type);
    },
    ...parts,
  });
  world.create('leases', makeLeaseObject('a', 0));
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 0, version: '1.37.0' }));
  await world.start();
  await world.clock.advance(1000);
  const requests = world.ourRequests.length;
  done.length = 0;
  return { world, done, requests };
}

test.each([
  { name: 'a Lease by its holder', renew: (world: ControllerWorld) => world.renewLease(KEY) },
  { name: 'the holder’s candidate', renew: (world: ControllerWorld) => world.renew('default/a') },
  { name: 'another candidate', renew: (world: ControllerWorld) => world.renew('default/b') },
])('a renewal of $name costs neither a decision nor a timer, a request or a metric', async ({ renew }) => {
  const { world, done, requests } = await makeWorld();
  for (let renewal = 0; renewal < 100; renewal++) {
    renew(world);
    await world.clock.advance(10);
  }
  expect(done).toEqual([]);
  expect(world.ourRequests).toHaveLength(requests);
});

test('nor does a renewal of a Lease whose due action is never executed, as in a dry run', async () => {
  const { world, done } = await makeWorld({ isDryRun: true });
  const sixMinutes = 180;
  for (let renewal = 0; renewal < sixMinutes; renewal++) {
    world.renewLease(KEY);
    await world.clock.advance(2000);
  }
  done.length = 0;
  for (let renewal = 0; renewal < 100; renewal++) {
    world.renewLease(KEY);
    await world.clock.advance(10);
  }
  expect(done.filter((what) => what === 'decided').length).toBeLessThan(2);
});

test('a change that is not only a renewal causes a decision', async () => {
  const { world, done } = await makeWorld();
  world.change('leases', KEY, { holderIdentity: '' });
  await world.clock.advance(0);
  expect(done).toContain('decided');
});
