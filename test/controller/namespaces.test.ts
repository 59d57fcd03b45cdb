import { describe, expect, test } from 'vitest';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

/** Names that could be mistaken for a path, a key, or a property of every object. */
const HOSTILE_NAMES = [
  'theirs/scheduler',
  '/theirs/scheduler',
  '../theirs/scheduler',
  '../../theirs/leases/scheduler',
  '..%2f..%2ftheirs%2fleases%2fscheduler',
  '..',
  '.',
  '',
  'scheduler/',
  'scheduler?fieldManager=x',
  'scheduler#x',
  'scheduler\n',
  'scheduler\u0000',
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'hasOwnProperty',
];

/** A Lease of the namespace `theirs` that `a` leads, with equal candidates `a` and `b`. */
async function makeTheirWorld(): Promise<ControllerWorld> {
  const world = new ControllerWorld();
  for (const name of ['a', 'b'])
    world.create('leasecandidates', makeCandidateObject(name, { namespace: 'theirs', renewedAt: 0 }));
  world.create('leases', {
    ...makeLeaseObject('a', 0),
    metadata: { namespace: 'theirs', name: 'scheduler' },
  });
  await world.start();
  await world.clock.advance(1000);
  return world;
}

/** Lets their holder renew for a minute, and returns our writes during that time. */
async function ourWritesWithinAMinute(world: ControllerWorld): Promise<readonly string[]> {
  const before = world.ourRequests.length;
  for (let seconds = 0; seconds < 60; seconds += 5) {
    world.renewLease('theirs/scheduler');
    await world.clock.advance(5000);
  }
  return world.ourRequests.slice(before);
}

describe('a user with write access to the LeaseCandidates and Leases of one namespace', () => {
  test.each(HOSTILE_NAMES.map((leaseName) => ({ leaseName })))(
    'influences no other one with a candidate for $leaseName',
    async ({ leaseName }) => {
      const world = await makeTheirWorld();
      const theirs = world.api.lease('theirs/scheduler');
      world.create(
        'leasecandidates',
        makeCandidateObject('best', { namespace: 'ours', leaseName, version: '1.0.0', renewedAt: 1000 }),
      );
      const requests = await ourWritesWithinAMinute(world);
      const elsewhere = requests.filter((request) => !/ \/[^?#]*\/namespaces\/ours\/[a-z]+/.test(request));
      expect(elsewhere).toEqual([]);
      for (const request of requests) {
        const path = request.split(' ')[2] ?? '';
        expect(new URL(path, 'http://server').pathname).toBe(path);
      }
      expect(world.leaseSpec('theirs/scheduler')).toMatchObject({ holderIdentity: 'a' });
      expect(world.leaseSpec('theirs/scheduler')['preferredHolder']).toBeUndefined();
      expect(world.api.lease('theirs/scheduler')?.metadata.uid).toBe(theirs?.metadata.uid);
      expect(world.told.filter((line) => line.startsWith('decisionFailed'))).toEqual([]);
    },
  );

  test('does not affect other namespaces with names of their Lease, its holder or its successor', async () => {
    const world = await makeTheirWorld();
    const inOurs = { namespace: 'ours', version: '1.0.0', renewedAt: 1000 };
    for (const name of ['a', 'b', 'best']) world.create('leasecandidates', makeCandidateObject(name, inOurs));
    await world.clock.advance(1000);
    expect(world.leaseSpec('ours/scheduler')).toMatchObject({ holderIdentity: 'a' });
    // The candidate there does not affect the one here.
    world.change('leases', 'ours/scheduler', { holderIdentity: '', leaseDurationSeconds: 1 });
    for (const name of ['a', 'b', 'best']) world.remove('leasecandidates', `ours/${name}`);
    const requests = await ourWritesWithinAMinute(world);
    expect(requests.filter((request) => request.includes('/theirs/'))).toEqual([]);
    expect(world.leaseSpec('theirs/scheduler')).toMatchObject({ holderIdentity: 'a' });
  });

  test('cannot keep the coordinator from electing in other namespaces', async () => {
    const world = await makeTheirWorld();
    for (const [index, leaseName] of HOSTILE_NAMES.entries())
      world.create(
        'leasecandidates',
        makeCandidateObject(`best-${index}`, { namespace: 'ours', leaseName, renewedAt: 1000 }),
      );
    world.release('theirs/scheduler');
    await world.clock.advance(100);
    world.renew('theirs/b');
    await world.clock.advance(10);
    expect(world.leaseSpec('theirs/scheduler')).toMatchObject({ holderIdentity: 'b' });
  });
});
