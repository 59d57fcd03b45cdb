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
  const outcomes: readonly (readonly [patch: object, metadata: object])[] = [
    [{ finalizers: ['e/f', 'a/b'] }, { finalizers: ['e/f', 'a/b', 'c/d'] }],
    [{ '$deleteFromPrimitiveList/finalizers': ['a/b'] }, { finalizers: ['c/d'] }],
    [{ '$setElementOrder/finalizers': ['c/d', 'a/b'] }, { finalizers: ['c/d', 'a/b'] }],
    [
      { finalizers: ['e/f'], '$setElementOrder/finalizers': ['e/f', 'c/d', 'a/b'] },
      { finalizers: ['e/f', 'c/d', 'a/b'] },
    ],
    [{ finalizers: null }, { finalizers: undefined }],
    [
      {
        ownerReferences: [
          { uid: '2', name: 'yy' },
          { ...first, uid: '3', name: 'z' },
        ],
      },
      { ownerReferences: [first, { ...second, name: 'yy' }, { ...first, uid: '3', name: 'z' }] },
    ],
    [{ ownerReferences: [{ uid: '2', $patch: 'delete' }] }, { ownerReferences: [first] }],
    [
      { ownerReferences: [{ $patch: 'replace' }, { ...first, uid: '9' }] },
      { ownerReferences: [{ ...first, uid: '9' }] },
    ],
    [{ labels: { z: 'z', x: null } }, { labels: { z: 'z' } }],
    [{ labels: { $patch: 'replace', only: '1' } }, { labels: { only: '1' } }],
    [{ labels: { $patch: 'delete' } }, { labels: undefined }],
  ];
  for (const [metadata, want] of outcomes) {
    test(`takes the metadata ${JSON.stringify(metadata)}`, async ({ leases }) => {
      const made = await leases.make(object);
      const answer = await leases.strategicPatch('a', { metadata });
      const { resourceVersion: _r, managedFields: _m, ...after } = answer.json.metadata;
      const { resourceVersion: _r2, managedFields: _m2, ...before } = made.metadata;
      expect({ code: answer.code, metadata: after }).toEqual({ code: 200, metadata: { ...before, ...want } });
      expect((await leases.get('a')).json).toEqual(answer.json);
    });
  }

  const specs: readonly (readonly [patch: unknown, spec: object])[] = [
    [
      { holderIdentity: null, leaseTransitions: 1 },
      { leaseDurationSeconds: 10, leaseTransitions: 1 },
    ],
    [{ $patch: 'replace', holderIdentity: 'r' }, { holderIdentity: 'r' }],
    [{ $patch: 'delete' }, {}],
    [null, {}],
  ];
  for (const [spec, want] of specs) {
    test(`takes the spec ${JSON.stringify(spec)}`, async ({ leases }) => {
      await leases.make(object);
      const answer = await leases.strategicPatch('a', { spec });
      expect({ code: answer.code, spec: answer.json.spec }).toEqual({ code: 200, spec: want });
    });
  }

  const unreadable = failure(422, 'Invalid', { causes: [{ reason: 'FieldValueInvalid', field: 'patch' }] });
  const refused: readonly (readonly [object, number, object])[] = [
    [{ metadata: { finalizers: 'x' } }, 422, unreadable],
    [{ metadata: { labels: [] } }, 422, unreadable],
    [{ spec: { holderIdentity: { a: 1 } } }, 422, unreadable],
    [{ spec: { leaseTransitions: 'a' } }, 422, unreadable],
    [{ metadata: { ownerReferences: [{ name: 'x' }] } }, 500, failure(500, '')],
    [{ spec: { $patch: 'other' } }, 500, failure(500, '')],
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

  test('writes nothing when nothing changes', async ({ leases }) => {
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
      unreadable,
    );
  });

  test('refuses what does not exist', async ({ leases }) => {
    expectAnswer(await leases.strategicPatch('a', {}), 404, notFound(leaseResource, 'a'));
  });
}
