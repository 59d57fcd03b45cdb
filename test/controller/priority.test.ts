import { describe, expect, test } from 'vitest';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { wallAt } from '../support/election-builders.ts';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject } from './make-objects.ts';

const LEASE = 'default/scheduler';
const PRIORITY = 'coordinated-leader-election.dev/priority';
const UNTIL = 'coordinated-leader-election.dev/priority-until';

/** A Lease that `a` leads, with a younger `b` beside it. */
async function makeLedWorld(): Promise<ControllerWorld> {
  const world = new ControllerWorld();
  await world.start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(2000);
  world.change('leases', LEASE, { renewTime: world.wallText, leaseDurationSeconds: 3600 });
  world.create('leasecandidates', makeCandidateObject('b', { renewedAt: 2000, version: '1.37.0' }));
  await world.clock.advance(60_000);
  return world;
}

describe('the priority of a candidate of a settled Lease (rule 16)', () => {
  test('causes a ping at once, and a preference after the answer', async () => {
    const world = await makeLedWorld();
    world.annotate('leasecandidates', 'default/b', { [PRIORITY]: '1' });
    await world.clock.advance(10);
    expect(world.candidateSpec('default/b')['pingTime']).toBeDefined();
    world.renew('default/b');
    await world.clock.advance(10);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', preferredHolder: 'b' });
  });

  test('is removed at the moment when it ends, with the preference that it caused', async () => {
    const world = await makeLedWorld();
    const until = formatMicroTime(wallAt(world.clock.now() + 1500));
    world.annotate('leasecandidates', 'default/b', { [PRIORITY]: '1', [UNTIL]: until });
    await world.clock.advance(10);
    world.renew('default/b');
    await world.clock.advance(1485);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a', preferredHolder: 'b' });
    await world.clock.advance(15);
    expect(world.leaseSpec()['preferredHolder']).toBeUndefined();
  });

  test('is applied when it is lowered: the leader yields', async () => {
    const world = await makeLedWorld();
    world.annotate('leasecandidates', 'default/a', { [PRIORITY]: '-1000' });
    await world.clock.advance(10);
    world.renew('default/b');
    await world.clock.advance(10);
    expect(world.leaseSpec()).toMatchObject({ preferredHolder: 'b' });
  });
});
