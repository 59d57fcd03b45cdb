import { expect, test } from 'vitest';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject } from './make-objects.ts';

const KEY = 'default/scheduler';

async function makeWatchedWorld() {
  const seen: string[] = [];
  const world = await new ControllerWorld({
    observe: (event) => {
      if (event.type === 'seen') seen.push(`${event.key}${event.isRenewalOnly ? ' renewed' : ''}`);
    },
  }).start();
  return { world, seen };
}

test('the observer gets every seen change, and whether it is only a renewal', async () => {
  const { world, seen } = await makeWatchedWorld();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(2000);
  expect(seen).toEqual([KEY, KEY]);
  world.mayWrite = false;
  world.renewLease(KEY);
  await world.clock.advance(0);
  world.change('leases', KEY, { holderIdentity: 'b' });
  await world.clock.advance(0);
  world.remove('leasecandidates', 'default/a');
  world.remove('leases', KEY);
  await world.clock.advance(0);
  expect(seen.slice(2)).toEqual([`${KEY} renewed`, KEY, KEY, KEY]);
});

test('a read returns the latest seen state', async () => {
  const { world } = await makeWatchedWorld();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(2000);
  expect([...world.controller.coordinatedLeases()]).toEqual([KEY]);
  expect(world.controller.gather(KEY).lease?.holderIdentity).toBe('a');
});
