import { expect } from 'vitest';
import {
  applied,
  applyConflict,
  badRequest,
  conflict,
  expectAnswer,
  invalid,
  invalidObject,
  lease,
  leaseKind,
  leases as leaseResource,
  namespaces,
  notFound,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { expectGone, mediaTypes } from '../workspace.ts';

const named = { metadata: { name: 'a' } };
const holder = { 'f:spec': { 'f:holderIdentity': {} } };

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

  test('accepts YAML', async ({ namespace, leases, request }) => {
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

  test('needs a name for a creation, but not for a change', async ({ leases }) => {
    const spec = { holderIdentity: 'h' };
    expectAnswer(await leases.apply('a', 'm1', { spec }), 400, badRequest());
    await leases.make(named);
    const { code, json } = await leases.apply('a', 'm1', { spec });
    expect({ code, spec: json.spec }).toEqual({ code: 200, spec });
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

  test('takes the fields over if forced', async ({ leases }) => {
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

  const typeless: readonly object[] = [
    {},
    { kind: 'Lease' },
    { apiVersion: 'coordination.k8s.io/v1', kind: 'Other' },
    { apiVersion: 'coordination.k8s.io/v2', kind: 'Lease' },
    { apiVersion: 'v1', kind: 'Namespace' },
  ];
  for (const type of typeless) {
    test(`requires the kind and the version of the path, not ${JSON.stringify(type)}`, async ({
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
    [{ name: 'a', resourceVersion: '1' }, 409, conflict(leaseResource, 'a')],
  ];
  for (const [metadata, code, body] of refused) {
    test(`refuses the metadata ${JSON.stringify(metadata)}`, async ({ leases }) => {
      const made = await leases.make(named);
      expectAnswer(await leases.apply('a', 'm', { metadata }), code, body);
      expect((await leases.get('a')).json).toEqual(made);
    });
  }

  test('does not create an object with a given uid', async ({ leases }) => {
    expectAnswer(
      await leases.apply('a', 'm', { metadata: { name: 'a', uid: 'abc' } }),
      409,
      conflict(leaseResource, 'a'),
    );
  });

  test('creates even if the body has a resourceVersion', async ({ namespace, leases }) => {
    const answer = await leases.apply('a', 'm', { metadata: { name: 'a', resourceVersion: '1' } });
    expectAnswer(answer, 201, lease(namespace, 'a'));
  });

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

  test('returns the result of a dry run', async ({ leases }) => {
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

  test('refuses a body that is not YAML, or not an object', async ({ leases, request }) => {
    for (const rawBody of ['{', '[]', ''] as const) {
      const asked = { rawBody, contentType: mediaTypes.apply, query: { fieldManager: 'm' } };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    }
  });
}
