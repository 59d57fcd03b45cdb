import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCandidate, createLease, leasePath, leasesPath } from '../control-plane/cluster-objects.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import { type Informer, startInformer } from './informer.ts';

// In this order, because each uses the state that the last one left.
describe("client-go's informers on the embedded server", () => {
  const namespace = 'default';
  let plane: EmbeddedPlane;
  let informer: Informer;

  beforeAll(async () => {
    plane = await startEmbeddedPlane();
    await createLease(plane, { namespace, name: 'there-before' }, { holderIdentity: 'a' });
    await createCandidate(plane, { lease: 'there-before', name: 'candidate-before' });
    informer = await startInformer(plane.readOnlyKubeconfig);
  });
  afterAll(async () => {
    await informer?.stop();
    await plane?.stop();
  });

  test('see all existing objects and know when they have seen all', async () => {
    await informer.waitFor({ event: 'synced' });
    const seen = informer.lines.map(
      ({ event, resource, name }) => `${event} ${resource ?? ''} ${name ?? ''}`,
    );
    expect(seen).toContain('added leases there-before');
    expect(seen).toContain('added leasecandidates candidate-before');
  });

  test('see every change of one object once and in order', async () => {
    await createLease(plane, { namespace, name: 'changing' }, { leaseTransitions: 0 });
    for (let transitions = 1; transitions <= 50; transitions += 1) {
      await plane.request('PATCH', leasePath({ namespace, name: 'changing' }), {
        spec: { leaseTransitions: transitions },
      });
    }
    await plane.request('DELETE', leasePath({ namespace, name: 'changing' }));
    await informer.waitFor({ event: 'deleted', name: 'changing' });
    const seen = informer.lines.filter(({ name }) => name === 'changing');
    expect(seen.map(({ event }) => event)).toEqual(['added', ...Array(50).fill('modified'), 'deleted']);
    const versions = seen.map(({ resourceVersion }) => Number(resourceVersion));
    expect(versions).toEqual(versions.toSorted((one, other) => one - other));
    expect(new Set(versions).size).toBe(versions.length);
  });

  test('resume after the server was killed, and see the missed changes', async () => {
    await createLease(plane, { namespace, name: 'kept' }, { holderIdentity: 'a' });
    const before = await informer.waitFor({ event: 'added', name: 'kept' });
    await plane.restart();
    await createLease(plane, { namespace, name: 'after' }, { holderIdentity: 'a' });
    const after = await informer.waitFor({ event: 'added', name: 'after' }, 60_000);
    expect(Number(after.resourceVersion)).toBeGreaterThan(Number(before.resourceVersion));
    const { items } = await plane.request<{ items: { metadata: { name: string } }[] }>(
      'GET',
      leasesPath(namespace),
    );
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['after', 'kept', 'there-before']);
    // No stored object looks deleted in the meantime.
    expect(informer.lines.filter(({ event, name }) => event === 'deleted' && name !== 'changing')).toEqual(
      [],
    );
  });
});
