import { expect } from 'vitest';
import {
  aRevision,
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

export function describeMergePatch({ test }: Suite): void {
  test('sets, changes and removes fields', async ({ leases }) => {
    const made = await leases.make({
      metadata: { name: 'a', labels: { x: 'y', z: 'z' } },
      spec: { holderIdentity: 'h', leaseDurationSeconds: 10 },
    });
    const answer = await leases.mergePatch('a', {
      metadata: { labels: { x: null, w: 'w' } },
      spec: { holderIdentity: null, leaseTransitions: 1 },
    });
    expect({ code: answer.code, labels: answer.json.metadata.labels, spec: answer.json.spec }).toEqual({
      code: 200,
      labels: { w: 'w', z: 'z' },
      spec: { leaseDurationSeconds: 10, leaseTransitions: 1 },
    });
    expect(answer.json.metadata).toMatchObject({ uid: made.metadata.uid, resourceVersion: aRevision });
    expect((await leases.get('a')).json).toEqual(answer.json);
  });

  test('writes nothing without a change', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    for (const patch of [
      {},
      { spec: {} },
      { spec: { holderIdentity: 'h' } },
      { kind: null },
      { spec: { leaseTransitions: null } },
    ]) {
      expectAnswer(await leases.mergePatch('a', patch), 200, made);
    }
  });

  test('replaces lists as a whole', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a', finalizers: ['a/b', 'c/d'] } });
    const { json } = await leases.mergePatch('a', { metadata: { finalizers: ['e/f'] } });
    expect(json.metadata.finalizers).toEqual(['e/f']);
  });

  test('empties the spec with null', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    expect((await leases.mergePatch('a', { spec: null })).json.spec).toEqual({});
  });

  test('refuses a missing object', async ({ leases, request }) => {
    expectAnswer(await leases.mergePatch('a', {}), 404, notFound(leaseResource, 'a'));
    expectAnswer(await leases.mergePatch('Bad_Name', {}), 404, notFound(leaseResource, 'Bad_Name'));
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases/a';
    const asked = { body: {}, contentType: mediaTypes.mergePatch };
    expectAnswer(await request('PATCH', path, asked), 404, notFound(leaseResource, 'a'));
  });

  test('applies to the latest version unless it contains one', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const { resourceVersion } = made.metadata;
    const patch = { metadata: { resourceVersion }, spec: { leaseTransitions: 1 } };
    expect((await leases.mergePatch('a', patch)).code).toBe(200);
    expectAnswer(
      await leases.mergePatch('a', { ...patch, spec: { leaseTransitions: 2 } }),
      409,
      conflict(leaseResource, 'a'),
    );
    expect((await leases.mergePatch('a', { spec: { leaseTransitions: 3 } })).json.spec).toEqual({
      leaseTransitions: 3,
    });
  });

  test('must not remove the resourceVersion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    for (const resourceVersion of [null, '', '0']) {
      expectAnswer(
        await leases.mergePatch('a', { metadata: { resourceVersion }, spec: { leaseTransitions: 1 } }),
        422,
        invalidObject(leaseResource, 'a', [invalid('metadata.resourceVersion')]),
      );
    }
  });

  test('must not change name, namespace, uid or deletionTimestamp', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const time = '2020-01-01T00:00:00Z';
    const uid = invalid('metadata.uid');
    const deletion = invalid('metadata.deletionTimestamp');
    expectAnswer(await leases.mergePatch('a', { metadata: { name: 'b' } }), 400, badRequest());
    expectAnswer(await leases.mergePatch('a', { metadata: { namespace: 'b' } }), 400, badRequest());
    expectAnswer(await leases.mergePatch('a', { metadata: null }), 400, badRequest());
    expectAnswer(
      await leases.mergePatch('a', { metadata: { uid: 'x' } }),
      422,
      invalidObject(leaseKind, 'a', [uid, uid]),
    );
    expectAnswer(
      await leases.mergePatch('a', { metadata: { deletionTimestamp: time } }),
      422,
      invalidObject(leaseKind, 'a', [deletion, deletion]),
    );
  });

  test('is validated like any update', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(
      await leases.mergePatch('a', { spec: { leaseDurationSeconds: 0 } }),
      422,
      invalidObject(leaseKind, 'a', [invalid('spec.leaseDurationSeconds')]),
    );
  });

  const notAPatch: readonly string[] = ['[]', '5', 'null', '{', '', '{"spec":{}} x'];
  for (const rawBody of notAPatch) {
    test(`refuses the patch ${JSON.stringify(rawBody)}`, async ({ leases, request }) => {
      await leases.make({ metadata: { name: 'a' } });
      const asked = { rawBody, contentType: mediaTypes.mergePatch };
      expectAnswer(await request('PATCH', `${leases.path}/a`, asked), 400, badRequest());
    });
  }

  const unreadable = failure(422, 'Invalid', { causes: [{ reason: 'FieldValueInvalid', field: 'patch' }] });
  for (const patch of [
    { spec: { leaseDurationSeconds: '5' } },
    { spec: 'x' },
    { metadata: { annotations: { a: 5 } } },
    { kind: 'Other' },
    { apiVersion: 'v1' },
  ]) {
    test(`refuses the patch ${JSON.stringify(patch)}`, async ({ leases }) => {
      const made = await leases.make({ metadata: { name: 'a' } });
      const answer = await leases.mergePatch('a', patch);
      expectAnswer(answer, 422, unreadable);
      expect((await leases.get('a')).json).toEqual(made);
    });
  }

  test('warns of unknown and duplicate fields, ignores them, or refuses them', async ({
    leases,
    request,
  }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const asked = {
      rawBody: '{"spec":{"leaseTransitions":4,"leaseTransitions":5,"other":1}}',
      contentType: mediaTypes.mergePatch,
    };
    const problems = ['duplicate field "spec.leaseTransitions"', 'unknown field "spec.other"'];
    const patched = (fieldValidation: string) =>
      request('PATCH', `${leases.path}/a`, { ...asked, query: { dryRun: 'All', fieldValidation } });
    const warned = await patched('Warn');
    expect(warned.warnings.toSorted()).toEqual(problems);
    expectAnswer(warned, 200, { ...made, spec: { leaseTransitions: 5 } });
    const ignored = await patched('Ignore');
    expect({ code: ignored.code, warnings: ignored.warnings }).toEqual({ code: 200, warnings: [] });
    expectAnswer(await patched('Strict'), 422, unreadable);
  });

  test('returns the result of a dry run, with the old revision', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    expectAnswer(
      await leases.mergePatch('a', { spec: { leaseTransitions: 9 } }, { query: { dryRun: 'All' } }),
      200,
      { ...made, spec: { leaseTransitions: 9 } },
    );
    expect((await leases.get('a')).json).toEqual(made);
  });
}
