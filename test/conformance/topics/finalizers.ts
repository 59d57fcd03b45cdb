import { expect } from 'vitest';
import {
  aRevision,
  aTime,
  expectAnswer,
  forbidden,
  invalidObject,
  leaseKind,
  leases as leaseResource,
  notFound,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Body } from '../target.ts';
import { type Collection, expectGone } from '../workspace.ts';

const gone = notFound(leaseResource, 'a');

async function makeDeleting(leases: Collection, metadata: object = {}): Promise<Body> {
  await leases.make({ metadata: { name: 'a', finalizers: ['a/b', 'c/d'], ...metadata } });
  const answer = await leases.delete('a');
  expect(answer.code, answer.text).toBe(200);
  return answer.json;
}

export function describeFinalizers({ test }: Suite): void {
  test('turn a deletion into an update', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a', finalizers: ['a/b'] } });
    const deleting = {
      ...made,
      metadata: {
        ...made.metadata,
        resourceVersion: aRevision,
        deletionTimestamp: aTime,
        deletionGracePeriodSeconds: 0,
      },
    };
    const answer = await leases.delete('a');
    expectAnswer(answer, 200, deleting);
    expect(answer.json.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
    expect((await leases.get('a')).json).toEqual(answer.json);
  });

  test('allow a deletion to be repeated without a change', async ({ leases }) => {
    const deleting = await makeDeleting(leases);
    expectAnswer(await leases.delete('a'), 200, deleting);
    expectAnswer(await leases.delete('a', { gracePeriodSeconds: 5 }), 200, deleting);
    expect((await leases.get('a')).json).toEqual(deleting);
  });

  test('count the deletion as a new generation if there is one', async ({ leases }) => {
    expect((await makeDeleting(leases, { generation: 3 })).metadata['generation']).toBe(4);
  });

  test('are added and removed by the propagation policies', async ({ leases }) => {
    await makeDeleting(leases);
    const deleted = async (propagationPolicy: string) =>
      (await leases.delete('a', { propagationPolicy })).json.metadata.finalizers;
    expect(await deleted('Foreground')).toEqual(['a/b', 'c/d', 'foregroundDeletion']);
    expect(await deleted('Orphan')).toEqual(['a/b', 'c/d', 'orphan']);
    expect(await deleted('Background')).toEqual(['a/b', 'c/d']);
  });

  test('cannot be added to a deleting object', async ({ leases }) => {
    const { metadata } = await makeDeleting(leases);
    const cause = forbidden('metadata.finalizers');
    expectAnswer(
      await leases.mergePatch('a', { metadata: { finalizers: [...(metadata.finalizers ?? []), 'e/f'] } }),
      422,
      invalidObject(leaseKind, 'a', [cause, cause]),
    );
  });

  test('allow changes of a deleting object, but not its rescue', async ({ leases }) => {
    const deleting = await makeDeleting(leases);
    const { deletionTimestamp: _, ...metadata } = deleting.metadata;
    const answer = await leases.replace('a', { ...deleting, metadata: { ...metadata, labels: { x: 'y' } } });
    expectAnswer(answer, 200, {
      ...deleting,
      metadata: {
        ...deleting.metadata,
        resourceVersion: aRevision,
        labels: { x: 'y' },
        managedFields: expect.anything(),
      },
    });
  });

  test('keep the object until the last is removed', async ({ leases }) => {
    const deleting = await makeDeleting(leases);
    const first = await leases.jsonPatch('a', [{ op: 'remove', path: '/metadata/finalizers/0' }]);
    expect({ code: first.code, finalizers: first.json.metadata.finalizers }).toEqual({
      code: 200,
      finalizers: ['c/d'],
    });
    const last = await leases.mergePatch('a', { metadata: { finalizers: null } });
    expect(last.code).toBe(200);
    expect(last.json.metadata).toMatchObject({
      uid: deleting.metadata.uid,
      resourceVersion: first.json.metadata.resourceVersion,
      deletionTimestamp: deleting.metadata['deletionTimestamp'],
    });
    expect(last.json.metadata.finalizers).toBeUndefined();
    await expectGone(leases, 'a', gone);
  });

  test('keep the object in a dry run', async ({ leases }) => {
    const deleting = await makeDeleting(leases);
    const query = { dryRun: 'All' };
    expect((await leases.mergePatch('a', { metadata: { finalizers: null } }, { query })).code).toBe(200);
    expect((await leases.get('a')).json).toEqual(deleting);
  });

  test('only delay a deletion, and do not prevent changes', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', finalizers: ['a/b'] } });
    const emptied = await leases.mergePatch('a', { metadata: { finalizers: [] } });
    expect({ code: emptied.code, finalizers: emptied.json.metadata.finalizers }).toEqual({
      code: 200,
      finalizers: undefined,
    });
    expect((await leases.get('a')).code).toBe(200);
  });
}
