import { expect } from 'vitest';
import { aRevision, badRequest, conflict, expectAnswer, leaseKind } from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Body } from '../target.ts';
import type { Collection } from '../workspace.ts';

const names = (list: Body) => list.items.map(({ metadata }) => metadata.name);

async function makeFour(leases: Collection): Promise<void> {
  await leases.make({ metadata: { name: 'a', labels: { x: '1' } } });
  await leases.make({ metadata: { name: 'b', labels: { x: '2' } } });
  await leases.make({ metadata: { name: 'c', labels: { x: '2' }, finalizers: ['a/b'] } });
  await leases.make({ metadata: { name: 'd' } });
}

export function describeDeleteCollection({ test }: Suite): void {
  test('returns and deletes the objects', async ({ leases }) => {
    await makeFour(leases);
    const before = (await leases.list()).json;
    const answer = await leases.deleteAll();
    expectAnswer(answer, 200, { ...before, metadata: { resourceVersion: aRevision } });
    const after = (await leases.list()).json;
    expect(names(after)).toEqual(['c']);
    expect(after.items[0]?.metadata['deletionTimestamp']).toBeDefined();
  });

  test('deletes the selected objects', async ({ leases }) => {
    await makeFour(leases);
    expect(
      names((await leases.deleteAll(undefined, { query: { labelSelector: 'x in (1,3)' } })).json),
    ).toEqual(['a']);
    const query = { fieldSelector: 'metadata.name=d' };
    expect(names((await leases.deleteAll(undefined, { query })).json)).toEqual(['d']);
    expect(names((await leases.list()).json)).toEqual(['b', 'c']);
  });

  test('deletes nothing in an empty collection', async ({ leases, request }) => {
    const empty = {
      kind: 'LeaseList',
      apiVersion: 'coordination.k8s.io/v1',
      metadata: { resourceVersion: aRevision },
      items: [],
    };
    expectAnswer(await leases.deleteAll(), 200, empty);
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases';
    expectAnswer(await request('DELETE', path), 200, empty);
  });

  test('deletes nothing in a dry run', async ({ leases }) => {
    await makeFour(leases);
    const before = (await leases.list()).json;
    for (const answer of [
      await leases.deleteAll({ dryRun: ['All'] }),
      await leases.deleteAll(undefined, { query: { dryRun: 'All' } }),
    ]) {
      expect({ code: answer.code, names: names(answer.json) }).toEqual({
        code: 200,
        names: ['a', 'b', 'c', 'd'],
      });
    }
    expect((await leases.list()).json.items).toEqual(before.items);
  });

  test('deletes the requested page', async ({ leases }) => {
    await makeFour(leases);
    const answer = await leases.deleteAll(undefined, { query: { limit: 2 } });
    expect(names(answer.json)).toEqual(['a', 'b']);
    expect(answer.json.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: 2 });
    expect(names((await leases.list()).json)).toEqual(['c', 'd']);
  });

  test('checks the preconditions for each object', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await leases.deleteAll({ preconditions: { uid: 'x' } }), 409, conflict(leaseKind, 'a'));
    expect(names((await leases.list()).json)).toEqual(['a']);
  });

  test('leaves the deletion to a garbage collector if the policy requires that', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expect((await leases.deleteAll({ propagationPolicy: 'Orphan' })).code).toBe(200);
    expect((await leases.get('a')).json.metadata.finalizers).toEqual(['orphan']);
  });

  for (const query of [
    { labelSelector: 'x===' },
    { fieldSelector: 'spec.holderIdentity=x' },
    { limit: 'x' },
  ] as const) {
    test(`refuses ${JSON.stringify(query)}`, async ({ leases }) => {
      await leases.make({ metadata: { name: 'a' } });
      expectAnswer(await leases.deleteAll(undefined, { query }), 400, badRequest());
      expect(names((await leases.list()).json)).toEqual(['a']);
    });
  }
}
