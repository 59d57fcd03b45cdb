import { expect } from 'vitest';
import {
  badRequest,
  conflict,
  expectAnswer,
  failure,
  invalid,
  invalidObject,
  leaseKind,
  leases as leaseResource,
  notFound,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { mediaTypes } from '../workspace.ts';

const first = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1' };
const second = { ...first, name: 'y', uid: '2' };
const object = {
  metadata: { name: 'a', labels: { x: 'y' }, finalizers: ['a/b', 'c/d'], ownerReferences: [first, second] },
  spec: { holderIdentity: 'h', leaseDurationSeconds: 10 },
};

export function describeStrategicMergePatch({ test }: Suite): void {
  const refused: readonly (readonly [object, number, object])[] = [
    [
      { spec: { leaseDurationSeconds: 0 } },
      422,
      invalidObject(leaseKind, 'a', [invalid('spec.leaseDurationSeconds')]),
    ],
    [{ metadata: { resourceVersion: '1' } }, 409, conflict(leaseResource, 'a')],
    [{ metadata: { name: 'b' } }, 400, badRequest()],
  ];
  for (const [patch, code, body] of refused) {
    test(`refuses the patch ${JSON.stringify(patch)}`, async ({ leases }) => {
      const made = await leases.make(object);
      expectAnswer(await leases.strategicPatch('a', patch), code, body);
      expect((await leases.get('a')).json).toEqual(made);
    });
  }

  for (const rawBody of ['[]', '{'] as const) {
    test(`refuses the patch ${rawBody}`, async ({ leases, request }) => {
      await leases.make(object);
      const asked = { rawBody, contentType: mediaTypes.strategicPatch };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    });
  }

  test('writes nothing without a change', async ({ leases }) => {
    const made = await leases.make(object);
    for (const patch of [
      null,
      {},
      { spec: { holderIdentity: 'h' } },
      { metadata: { finalizers: ['a/b'] } },
    ]) {
      expectAnswer(await leases.strategicPatch('a', patch), 200, made);
    }
  });

  test('warns of unknown and duplicate fields, or refuses them', async ({ leases, request }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const unknown = await leases.strategicPatch('a', { spec: { other: 1 } });
    expect(unknown.warnings).toEqual(['unknown field "spec.other"']);
    expectAnswer(unknown, 200, made);
    const asked = {
      rawBody: '{"spec":{"leaseTransitions":4,"leaseTransitions":5}}',
      contentType: mediaTypes.strategicPatch,
      query: { dryRun: 'All' },
    };
    const duplicate = await request('PATCH', `${leases.path}/a`, asked);
    expect(duplicate.warnings).toEqual(['duplicate field "spec.leaseTransitions"']);
    expect(duplicate.json.spec).toEqual({ leaseTransitions: 5 });
    expectAnswer(
      await leases.strategicPatch('a', { spec: { other: 1 } }, { query: { fieldValidation: 'Strict' } }),
      422,
      failure(422, 'Invalid', { causes: [{ reason: 'FieldValueInvalid', field: 'patch' }] }),
    );
  });

  test('refuses a missing object', async ({ leases }) => {
    expectAnswer(await leases.strategicPatch('a', {}), 404, notFound(leaseResource, 'a'));
  });
}
