import { expect } from 'vitest';
import {
  applied,
  applyConflict,
  badRequest,
  conflict,
  expectAnswer,
  failure,
  invalid,
  invalidObject,
  lease,
  leaseKind,
  leases as leaseResource,
  namespaces,
  notFound,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { expectGone, mediaTypes } from '../workspace.ts';

const named = { metadata: { name: 'a' } };
const holder = { 'f:spec': { 'f:holderIdentity': {} } };

const untypable = failure(500, '');

export function describeApply({ test }: Suite): void {
  test('creates what does not exist', async ({ namespace, leases }) => {
    const body = lease(namespace, 'a', {
      metadata: { managedFields: [applied('m1', holder)] },
      spec: { holderIdentity: 'h' },
    });
    expectAnswer(await leases.apply('a', 'm1', { ...named, spec: { holderIdentity: 'h' } }), 201, body);
    expectAnswer(await leases.get('a'), 200, body);
  });

  test('writes nothing when it is applied again', async ({ leases }) => {
    const object = { ...named, spec: { holderIdentity: 'h' } };
    const created = await leases.apply('a', 'm1', object);
    expectAnswer(await leases.apply('a', 'm1', object), 200, created.json);
    expectAnswer(await leases.apply('a', 'm1', { spec: object.spec }), 200, created.json);
  });

  test('takes YAML', async ({ namespace, leases, request }) => {
    const asked = {
      rawBody:
        'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: a\nspec:\n  holderIdentity: "y"\n  leaseTransitions: 3\n',
      contentType: mediaTypes.apply,
      query: { fieldManager: 'm1' },
    };
    const fields = { 'f:spec': { 'f:holderIdentity': {}, 'f:leaseTransitions': {} } };
    expectAnswer(
      await request('PATCH', `${leases.path}/a`, asked),
      201,
      lease(namespace, 'a', {
        metadata: { managedFields: [applied('m1', fields)] },
        spec: { holderIdentity: 'y', leaseTransitions: 3 },
      }),
    );
  });

  test('needs a name to create, but none to change', async ({ leases }) => {
    const spec = { holderIdentity: 'h' };
    expectAnswer(await leases.apply('a', 'm1', { spec }), 400, badRequest());
    await leases.make(named);
    const { code, json } = await leases.apply('a', 'm1', { spec });
    expect({ code, spec: json.spec }).toEqual({ code: 200, spec });
  });

  test('lets managers own a field together while they agree', async ({ leases }) => {
    await leases.apply('a', 'm1', { ...named, spec: { holderIdentity: 'h' } });
    const answer = await leases.apply('a', 'm2', { ...named, spec: { holderIdentity: 'h' } });
    expect(answer.code).toBe(200);
    // An apply that changes nothing but who owns what has no time, and comes first.
    expect(answer.json.metadata.managedFields).toEqual([
      untimed(applied('m2', holder)),
      applied('m1', holder),
    ]);
  });

  test('refuses to change what another manager applied', async ({ leases }) => {
    const first = await leases.apply('a', 'm1', { ...named, spec: { holderIdentity: 'h' } });
    const answer = await leases.apply('a', 'm2', { ...named, spec: { holderIdentity: 'other' } });
    expectAnswer(answer, 409, applyConflict(['.spec.holderIdentity']));
    expect((await leases.get('a')).json).toEqual(first.json);
  });

  test('names every field in conflict', async ({ leases }) => {
    await leases.apply('a', 'm1', {
      metadata: { name: 'a', labels: { a: 'b' } },
      spec: { holderIdentity: 'h', leaseTransitions: 3 },
    });
    const answer = await leases.apply('a', 'm2', {
      metadata: { name: 'a', labels: { a: 'c' } },
      spec: { holderIdentity: 'q', leaseTransitions: 4 },
    });
    const fields = ['.metadata.labels.a', '.spec.holderIdentity', '.spec.leaseTransitions'];
    expectAnswer(answer, 409, applyConflict(fields));
  });

  test('refuses to change what somebody updated', async ({ leases }) => {
    await leases.make({ ...named, spec: { holderIdentity: 'h' } });
    const answer = await leases.apply('a', 'conformance', { ...named, spec: { holderIdentity: 'q' } });
    expectAnswer(answer, 409, applyConflict(['.spec.holderIdentity']));
  });

  test('takes the fields over when it is forced', async ({ leases }) => {
    await leases.apply('a', 'm1', { ...named, spec: { holderIdentity: 'h' } });
    await leases.mergePatch('a', { spec: { leaseTransitions: 1 } });
    const object = { ...named, spec: { holderIdentity: 'q', leaseTransitions: 2 } };
    const answer = await leases.apply('a', 'm2', object, { query: { force: 'true' } });
    const fields = { 'f:spec': { 'f:holderIdentity': {}, 'f:leaseTransitions': {} } };
    expect({ code: answer.code, spec: answer.json.spec, owners: answer.json.metadata.managedFields }).toEqual(
      {
        code: 200,
        spec: object.spec,
        owners: [applied('m2', fields)],
      },
    );
  });

  test('removes what its manager leaves out and nobody else owns', async ({ leases }) => {
    await leases.apply('a', 'm1', {
      metadata: { name: 'a', labels: { x: '1', y: '2' }, finalizers: ['a/b', 'c/d'] },
      spec: { holderIdentity: 'h', leaseTransitions: 1 },
    });
    await leases.apply('a', 'm2', {
      metadata: { name: 'a', finalizers: ['c/d'] },
      spec: { leaseTransitions: 1 },
    });
    const answer = await leases.apply('a', 'm1', { metadata: { name: 'a', labels: { x: '1' } } });
    expect(answer.json.metadata).toMatchObject({ labels: { x: '1' }, finalizers: ['c/d'] });
    expect(answer.json.spec).toEqual({ leaseTransitions: 1 });
    expect(answer.json.metadata.managedFields).toEqual([
      untimed(
        applied('m2', {
          'f:metadata': { 'f:finalizers': { 'v:"c/d"': {} } },
          'f:spec': { 'f:leaseTransitions': {} },
        }),
      ),
      applied('m1', { 'f:metadata': { 'f:labels': { 'f:x': {} } } }),
    ]);
  });

  test('forgets a manager that applies nothing', async ({ leases }) => {
    await leases.apply('a', 'm1', { ...named, spec: { holderIdentity: 'h' } });
    const answer = await leases.apply('a', 'm1', named);
    expect({ code: answer.code, spec: answer.json.spec }).toEqual({ code: 200, spec: {} });
    expect(answer.json.metadata.managedFields).toBeUndefined();
  });

  test('remembers empty structs and maps', async ({ leases }) => {
    const owners = async (object: object) =>
      (await leases.apply('a', 'm1', object)).json.metadata.managedFields?.[0]?.['fieldsV1'];
    expect(await owners({ ...named, spec: {} })).toEqual({ 'f:spec': {} });
    expect(await owners({ metadata: { name: 'a', labels: {} } })).toEqual({
      'f:metadata': { 'f:labels': {} },
    });
  });

  test('merges finalizers and owners by what tells them apart', async ({ leases }) => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1' };
    const other = { ...owner, name: 'y', uid: '2' };
    await leases.apply('a', 'm1', { metadata: { name: 'a', finalizers: ['a/b'], ownerReferences: [owner] } });
    const both = await leases.apply('a', 'm2', {
      metadata: { name: 'a', finalizers: ['c/d'], ownerReferences: [other] },
    });
    expect(both.json.metadata).toMatchObject({ finalizers: ['a/b', 'c/d'], ownerReferences: [owner, other] });
    expectAnswer(
      await leases.apply('a', 'm2', { metadata: { name: 'a', ownerReferences: [{ ...owner, name: 'z' }] } }),
      409,
      applyConflict(['.metadata.ownerReferences[uid="1"]']),
    );
  });

  test('cannot take the same finalizer or owner twice', async ({ leases }) => {
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1' };
    for (const metadata of [
      { finalizers: ['a/b', 'a/b'] },
      { ownerReferences: [owner, { ...owner, name: 'y' }] },
    ]) {
      expectAnswer(await leases.apply('a', 'm1', { metadata: { name: 'a', ...metadata } }), 500, untypable);
    }
  });

  test('finds what was there before the first apply in the way', async ({ leases }) => {
    const made = await leases.make({ ...named, spec: { holderIdentity: 'h', leaseTransitions: 1 } });
    await leases.replace('a', { ...made, metadata: { ...made.metadata, managedFields: [] } });
    const object = { ...named, spec: { holderIdentity: 'q' } };
    expectAnswer(await leases.apply('a', 'm1', object), 409, applyConflict(['.spec.holderIdentity']));
    const forced = await leases.apply('a', 'm1', object, { query: { force: 'true' } });
    expect(forced.json.metadata.managedFields).toEqual([
      applied('m1', holder),
      updated('before-first-apply', { 'f:spec': { 'f:leaseTransitions': {} } }),
    ]);
  });

  const typeless: readonly object[] = [
    {},
    { kind: 'Lease' },
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Other' },
    { apiVersion: 'coordination.k8s.io/v2', kind: 'Lease' },
    { apiVersion: 'v1', kind: 'Namespace' },
  ];
  for (const type of typeless) {
    test(`needs the kind and the version of the path, not ${JSON.stringify(type)}`, async ({
      leases,
      request,
    }) => {
      const body = { ...type, ...named };
      const asked = { body, contentType: mediaTypes.apply, query: { fieldManager: 'm' } };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    });
  }

  const refused: readonly (readonly [metadata: object, code: number, body: object])[] = [
    [{ name: 'b' }, 400, badRequest()],
    [{ name: 'a', namespace: 'other' }, 400, badRequest()],
    [{ name: 'a', managedFields: [] }, 400, badRequest()],
    [{ name: 'a', managedFields: [{}] }, 400, badRequest()],
    [{ name: 'a', resourceVersion: '1' }, 409, conflict(leaseResource, 'a')],
  ];
  for (const [metadata, code, body] of refused) {
    test(`refuses the metadata ${JSON.stringify(metadata)}`, async ({ leases }) => {
      const made = await leases.make(named);
      expectAnswer(await leases.apply('a', 'm', { metadata }), code, body);
      expect((await leases.get('a')).json).toEqual(made);
    });
  }

  test('does not create an object whose uid is known already', async ({ leases }) => {
    expectAnswer(
      await leases.apply('a', 'm', { metadata: { name: 'a', uid: 'abc' } }),
      409,
      conflict(leaseResource, 'a'),
    );
  });

  test('creates even where the body has a resourceVersion', async ({ namespace, leases }) => {
    const answer = await leases.apply('a', 'm', { metadata: { name: 'a', resourceVersion: '1' } });
    expectAnswer(answer, 201, lease(namespace, 'a'));
  });

  const wrongFields: readonly (readonly [object, object])[] = [
    [{ other: 1 }, untypable],
    [{ leaseTransitions: 'x' }, untypable],
    [{ holderIdentity: true }, untypable],
    [{ renewTime: '2020-01-01T00:00:00Z' }, failure(500, '')],
  ];
  for (const [spec, body] of wrongFields) {
    test(`refuses the spec ${JSON.stringify(spec)}`, async ({ leases }) => {
      await leases.make(named);
      expectAnswer(await leases.apply('a', 'm', { ...named, spec }), 500, body);
    });
  }

  test('is validated like any update', async ({ leases, request }) => {
    expectAnswer(
      await leases.apply('a', 'm', { ...named, spec: { leaseDurationSeconds: 0 } }),
      422,
      invalidObject(leaseKind, 'a', [invalid('spec.leaseDurationSeconds')]),
    );
    expectAnswer(
      await leases.apply('Bad_Name', 'm', { metadata: { name: 'Bad_Name' } }),
      422,
      invalidObject(leaseKind, 'Bad_Name', [invalid('metadata.name')]),
    );
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', ...named };
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases/a';
    const asked = { body, contentType: mediaTypes.apply, query: { fieldManager: 'm' } };
    expectAnswer(await request('PATCH', path, asked), 404, notFound(namespaces, 'does-not-exist'));
  });

  test('answers a dry run with what would be', async ({ leases }) => {
    const query = { dryRun: 'All' };
    const object = { ...named, spec: { holderIdentity: 'h' } };
    const created = await leases.apply('a', 'm', object, { query });
    expect({ code: created.code, revision: created.json.metadata.resourceVersion }).toEqual({
      code: 201,
      revision: undefined,
    });
    await expectGone(leases, 'a', notFound(leaseResource, 'a'));
    const made = await leases.make(named);
    expectAnswer(await leases.apply('a', 'm', object, { query }), 200, {
      ...made,
      metadata: { ...made.metadata, managedFields: [applied('m', holder)] },
      spec: object.spec,
    });
    expect((await leases.get('a')).json).toEqual(made);
  });

  test('refuses what is not YAML, or no object', async ({ leases, request }) => {
    for (const rawBody of ['{', '[]', ''] as const) {
      const asked = { rawBody, contentType: mediaTypes.apply, query: { fieldManager: 'm' } };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    }
  });
}

function untimed({ time: _, ...entry }: ReturnType<typeof applied>): object {
  return entry;
}
