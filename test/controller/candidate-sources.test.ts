import { describe, expect, test } from 'vitest';
import { ControllerWorld } from './make-controller.ts';
import { makeCandidateObject, makeLeaseObject } from './make-objects.ts';

const KEY = 'default/scheduler';
const CUSTOM_PATH = '/apis/coordinated-leader-election.dev/v1alpha1/namespaces/default/leasecandidates';

async function makeWorld({ isNativeServed = true } = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld();
  world.api.hasCustomCandidates = true;
  if (!isNativeServed) world.api.candidateVersions = [];
  return await world.start();
}

function candidatesRequested(world: ControllerWorld): readonly string[] {
  return world.ourRequests.filter((request) => /leasecandidates\//.test(request));
}

describe('candidates of our own group (rule 13)', () => {
  test('are elected if the API server has none of its own', async () => {
    const world = await makeWorld({ isNativeServed: false });
    expect(world.controller.canElect()).toBe(true);
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('are pinged in their own group', async () => {
    const world = await makeWorld();
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(100);
    expect(candidatesRequested(world)).toEqual([`us PATCH ${CUSTOM_PATH}/a`]);
    world.change('customcandidates', 'default/a', { renewTime: world.wallText });
    await world.clock.advance(0);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });

  test('are deleted in their own group', async () => {
    const world = await makeWorld();
    world.create('customcandidates', makeCandidateObject('dead', { renewedAt: -3 * 3_600_000 }));
    await world.clock.advance(30 * 60_000);
    expect(candidatesRequested(world).at(-1)).toBe(`us DELETE ${CUSTOM_PATH}/dead`);
    expect(world.api.store.list('customcandidates')).toEqual([]);
  });

  test('are candidates for the same Lease as native ones', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('native', { renewedAt: 0, version: '1.36.0' }));
    world.create('customcandidates', makeCandidateObject('custom', { renewedAt: 0, version: '1.35.0' }));
    await world.clock.advance(10);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'custom' });
    expect(world.controller.gather(KEY).candidates).toHaveLength(2);
  });
});

describe('candidates of a source that was forbidden at the start (rule 8)', () => {
  test.each([
    { name: 'missing', lease: undefined },
    { name: 'emptied', lease: makeLeaseObject('', 0) },
  ])('wait if their Lease is $name: its last holder may still lead', async ({ lease }) => {
    const world = new ControllerWorld();
    const renew = () => world.change('customcandidates', 'default/a', { renewTime: world.wallText });
    world.api.hasCustomCandidates = true;
    world.fate = ({ path }) => (path.endsWith('.dev/v1alpha1/leasecandidates') ? { outcome: 403 } : {});
    world.takeLock();
    if (lease) world.create('leases', lease);
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(5000);
    await world.start();
    await world.clock.advance(100);
    expect(world.controller.canElect()).toBe(true);
    world.fate = () => ({});
    // The list is repeated at most 10 s after the permission.
    await world.clock.advance(9000);
    renew();
    await world.clock.advance(1500);
    expect(world.controller.gather(KEY).candidates).toHaveLength(1);
    expect(world.leaseSpec()['holderIdentity'] ?? '').toBe('');
    await world.clock.advance(25_000);
    renew();
    await world.clock.advance(100);
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'a' });
  });
});

describe('two candidates with the same name for one Lease (rule 13)', () => {
  test.each([
    { first: 'leasecandidates', second: 'customcandidates', pauseMs: 10, want: 'custom' },
    { first: 'customcandidates', second: 'leasecandidates', pauseMs: 10, want: 'native' },
    { first: 'leasecandidates', second: 'customcandidates', pauseMs: 0, want: 'native' },
    { first: 'customcandidates', second: 'leasecandidates', pauseMs: 0, want: 'native' },
  ] as const)(
    'are one: the $want, if $first come first and the others $pauseMs ms later',
    async ({ first, second, pauseMs, want }) => {
      const world = await makeWorld();
      for (const resource of [first, second]) {
        world.create(resource, makeCandidateObject('a', { renewedAt: world.clock.now() }));
        await world.clock.advance(pauseMs);
      }
      const sources = () => world.controller.gather(KEY).candidates.map(({ candidate }) => candidate.source);
      expect(sources()).toEqual([want]);
      expect(world.told).toContain(`twins ${KEY} a`);
      // The other one replaces it as soon as it renews.
      const [other, resource] =
        want === 'native'
          ? (['custom', 'customcandidates'] as const)
          : (['native', 'leasecandidates'] as const);
      await world.clock.advance(10);
      world.change(resource, 'default/a', { renewTime: world.wallText });
      await world.clock.advance(0);
      expect(sources()).toEqual([other]);
    },
  );

  test('count as the custom one, after a ping, when the native one is deleted', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: -60_000 }));
    await world.clock.advance(0);
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(20_000);
    const { candidates } = world.controller.gather(KEY);
    expect(candidates.map(({ candidate }) => candidate.source)).toEqual(['custom']);
    expect(candidatesRequested(world)).toContain(`us PATCH ${CUSTOM_PATH}/a`);
  });

  test('count as the custom one when the native one is hidden', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    const { candidates, hiddenUntil } = world.controller.gather(KEY);
    expect(candidates.map(({ candidate }) => candidate.source)).toEqual(['custom']);
    expect(hiddenUntil).toBeUndefined();
  });

  test('count as the native one when the custom one is deleted', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    world.remove('customcandidates', 'default/a');
    await world.clock.advance(0);
    world.remove('leasecandidates', 'default/a');
    await world.clock.advance(0);
    expect(world.controller.gather(KEY).candidates).toEqual([]);
  });
});

describe('a source of candidates that disappears (rules 10 and 13)', () => {
  test('does not cost a holder its Lease while it renews, whatever other candidates there are', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('native', { renewedAt: 0, version: '1.35.0' }));
    await world.clock.advance(2000);
    world.renewLease(KEY);
    world.create('customcandidates', makeCandidateObject('custom', { renewedAt: 0, version: '1.36.0' }));
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    for (let renewal = 0; renewal < 30; renewal++) {
      await world.clock.advance(2000);
      world.renewLease(KEY);
      world.change('customcandidates', 'default/custom', { renewTime: world.wallText });
    }
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'native' });
    expect(world.leaseSpec()['preferredHolder']).toBeUndefined();
    expect(world.decisions.at(-1)).toBe(`${KEY} HolderHidden`);

    // When it stops renewing, the visible candidates take part in an election.
    for (let second = 0; second < 12; second++) {
      await world.clock.advance(1000);
      world.change('customcandidates', 'default/custom', { renewTime: world.wallText });
    }
    expect(world.leaseSpec()).toMatchObject({ holderIdentity: 'custom' });
  });

  test('leaves its candidates unchanged when it is back', async () => {
    const world = await makeWorld();
    world.create('leasecandidates', makeCandidateObject('native', { renewedAt: 0, version: '1.36.0' }));
    await world.clock.advance(2000);
    world.renewLease(KEY);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.controller.gather(KEY).hiddenUntil).toBeGreaterThan(80_000_000);
    world.api.candidateVersions = ['v1beta1'];
    for (let renewal = 0; renewal < 6; renewal++) {
      await world.clock.advance(2000);
      world.renewLease(KEY);
    }
    expect(world.controller.gather(KEY).hiddenUntil).toBeUndefined();
    world.create(
      'customcandidates',
      makeCandidateObject('custom', { renewedAt: world.clock.now(), version: '1.35.0' }),
    );
    await world.clock.advance(10);
    world.change('customcandidates', 'default/custom', { renewTime: world.wallText });
    await world.clock.advance(10);
    expect(world.leaseSpec()['preferredHolder']).toBe('custom');
  });

  test('makes this replica let others elect first, and then elect among the remaining candidates', async () => {
    const world = await makeWorld();
    world.create('customcandidates', makeCandidateObject('a', { renewedAt: 0 }));
    await world.clock.advance(0);
    world.api.candidateVersions = [];
    world.connection.breakWatches();
    await world.clock.advance(1000);
    expect(world.controller.canElect()).toBe(false);
    await world.clock.advance(20_000);
    expect(world.controller.canElect()).toBe(true);
  });
});
