import { expect } from 'vitest';
import {
  aRevision,
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
import type { Body } from '../target.ts';
import { expectGone } from '../workspace.ts';

export function describeReplace({ test }: Suite): void {
  test('replaces the object', async ({ leases }) => {
    const made = await leases.make({
      metadata: { name: 'a', labels: { x: 'y' } },
      spec: { holderIdentity: 'h' },
    });
    const answer = await leases.replace('a', {
      ...made,
      metadata: { ...made.metadata, labels: { x: 'z' } },
      spec: { leaseTransitions: 1 },
    });
    const fields = {
      'f:metadata': { 'f:labels': { '.': {}, 'f:x': {} } },
      'f:spec': { 'f:leaseTransitions': {} },
    };
    expectAnswer(answer, 200, {
      ...made,
      metadata: {
        ...made.metadata,
        resourceVersion: aRevision,
        labels: { x: 'z' },
        managedFields: [updated('conformance', fields)],
      },
      spec: { leaseTransitions: 1 },
    });
    expect(BigInt(answer.json.metadata.resourceVersion)).toBeGreaterThan(
      BigInt(made.metadata.resourceVersion),
    );
    expect((await leases.get('a')).json).toEqual(answer.json);
  });

  test('writes nothing without a change', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    expectAnswer(await leases.replace('a', made), 200, made);
    expect((await leases.get('a')).json).toEqual(made);
  });

  test('creates a missing object', async ({ namespace, leases }) => {
    expectAnswer(await leases.replace('a', { metadata: { name: 'a' } }), 201, lease(namespace, 'a'));
  });

  test('creates even if the body has a resourceVersion, but not if it has a uid', async ({
    namespace,
    leases,
  }) => {
    expectAnswer(
      await leases.replace('a', { metadata: { name: 'a', resourceVersion: '5' } }),
      201,
      lease(namespace, 'a'),
    );
    expectAnswer(
      await leases.replace('b', { metadata: { name: 'b', uid: 'xyz' } }),
      409,
      conflict(leaseResource, 'b'),
    );
    await expectGone(leases, 'b', notFound(leaseResource, 'b'));
  });

  test('validates a new object', async ({ leases }) => {
    expectAnswer(
      await leases.replace('Bad_Name', { metadata: { name: 'Bad_Name' } }),
      422,
      invalidObject(leaseKind, 'Bad_Name', [invalid('metadata.name')]),
    );
  });

  test('refuses a namespace that does not exist', async ({ request }) => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases/a';
    const answer = await request('PUT', path, { body: { metadata: { name: 'a' } } });
    expectAnswer(answer, 404, notFound(namespaces, 'does-not-exist'));
  });

  for (const resourceVersion of [undefined, '', '0']) {
    test(`refuses an update with the resourceVersion ${JSON.stringify(resourceVersion)}`, async ({
      leases,
    }) => {
      await leases.make({ metadata: { name: 'a' } });
      expectAnswer(
        await leases.replace('a', { metadata: { name: 'a', resourceVersion } }),
        422,
        invalidObject(leaseResource, 'a', [invalid('metadata.resourceVersion')]),
      );
    });
  }

  test('refuses an update of an older version', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const next = await leases.replace('a', { ...made, spec: { leaseTransitions: 1 } });
    const answer = await leases.replace('a', { ...made, spec: { leaseTransitions: 2 } });
    expectAnswer(answer, 409, conflict(leaseResource, 'a'));
    expect((await leases.get('a')).json).toEqual(next.json);
  });

  test('refuses an invalid resourceVersion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(
      await leases.replace('a', { metadata: { name: 'a', resourceVersion: 'abc' } }),
      500,
      failure(500, ''),
    );
  });

  test('refuses another uid', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    expectAnswer(
      await leases.replace('a', { ...made, metadata: { ...made.metadata, uid: 'other' } }),
      409,
      conflict(leaseResource, 'a'),
    );
  });

  test('refuses another name, no name, or another namespace', async ({ leases }) => {
    for (const metadata of [{}, { name: 'b' }, { name: 'a', namespace: 'other' }] as const) {
      expectAnswer(await leases.replace('a', { metadata }), 400, badRequest());
    }
  });

  test('refuses another kind, and an invalid object', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await leases.replace('a', { ...made, kind: 'Other' }), 400, badRequest());
    expectAnswer(
      await leases.replace('a', { ...made, spec: { leaseDurationSeconds: 0 } }),
      422,
      invalidObject(leaseKind, 'a', [invalid('spec.leaseDurationSeconds')]),
    );
    expectAnswer(
      await leases.replace('a', { ...made, other: 1 }, { query: { fieldValidation: 'Strict' } }),
      400,
      badRequest(),
    );
    const { code, warnings } = await leases.replace('a', { ...made, other: 1 });
    expect({ code, warnings }).toEqual({ code: 200, warnings: ['unknown field "other"'] });
  });

  test('refuses a deletionTimestamp from a client', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const deletionTimestamp = '2020-01-01T00:00:00Z';
    const immutableTime = invalid('metadata.deletionTimestamp');
    expectAnswer(
      await leases.replace('a', { ...made, metadata: { ...made.metadata, deletionTimestamp } }),
      422,
      invalidObject(leaseKind, 'a', [immutableTime, immutableTime]),
    );
  });

  test('keeps the fields that only a server may set', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a', generation: 3 } });
    const metadata = { name: 'a', resourceVersion: made.metadata.resourceVersion };
    const answer = await leases.replace('a', {
      metadata: { ...metadata, creationTimestamp: '2020-01-01T00:00:00Z', generation: 9, selfLink: '/x' },
    });
    expectAnswer(answer, 200, made);
  });

  test('allows changes of generateName', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const answer = await leases.replace('a', {
      ...made,
      metadata: { ...made.metadata, generateName: 'gen-' },
    });
    expect(answer.code).toBe(200);
    expect(answer.json.metadata['generateName']).toBe('gen-');
  });

  test('returns the result of a dry run, with the old revision', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const query = { dryRun: 'All' };
    expectAnswer(await leases.replace('a', { ...made, spec: { leaseTransitions: 1 } }, { query }), 200, {
      ...made,
      spec: { leaseTransitions: 1 },
    });
    expect((await leases.get('a')).json).toEqual(made);
    const created = await leases.replace('b', { metadata: { name: 'b' } }, { query });
    const { resourceVersion: _, ...metadata } = (lease('', 'b') as unknown as Body).metadata;
    expect({ code: created.code, body: created.json }).toEqual({
      code: 201,
      body: { ...lease('', 'b'), metadata: { ...metadata, namespace: made.metadata.namespace } },
    });
    await expectGone(leases, 'b', notFound(leaseResource, 'b'));
  });

  test('removes duplicate owners, and warns', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: '1' };
    const answer = await leases.replace('a', {
      ...made,
      metadata: { ...made.metadata, ownerReferences: [owner, owner] },
    });
    expect(answer.warnings).toEqual([
      expect.stringMatching(/^\.metadata\.ownerReferences contains duplicate entries/),
    ]);
    expect(answer.json.metadata['ownerReferences']).toEqual([owner]);
  });
}
