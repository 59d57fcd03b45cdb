import { expect } from 'vitest';
import {
  aTime,
  badRequest,
  conflict,
  deletedStatus,
  expectAnswer,
  leaseKind,
  leases as leaseResource,
  notFound,
  unreadableOptions,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { expectGone, mediaTypes } from '../workspace.ts';

const gone = notFound(leaseResource, 'a');

export function describeDelete({ test, minor }: Suite): void {
  test('returns the deleted object', async ({ leases }) => {
    const { metadata } = await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await leases.delete('a'), 200, deletedStatus(leaseResource, 'a', metadata.uid));
    await expectGone(leases, 'a', gone);
    expectAnswer(await leases.delete('a'), 404, gone);
  });

  test('returns a Status, whatever the client accepts', async ({ leases }) => {
    const { metadata } = await leases.make({ metadata: { name: 'a' } });
    const answer = await leases.delete('a', undefined, { accept: mediaTypes.table });
    expectAnswer(answer, 200, deletedStatus(leaseResource, 'a', metadata.uid));
  });

  test('refuses a missing object', async ({ leases, request }) => {
    expectAnswer(await leases.delete('Bad_Name'), 404, notFound(leaseResource, 'Bad_Name'));
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases/a';
    expectAnswer(await request('DELETE', path), 404, gone);
  });

  for (const apiVersion of [undefined, 'v1', 'meta.k8s.io/v1', 'coordination.k8s.io/v1', 'example.com/v1']) {
    test(`accepts DeleteOptions of the version ${apiVersion ?? 'none'}`, async ({ leases }) => {
      const { metadata } = await leases.make({ metadata: { name: 'a' } });
      const options = apiVersion === undefined ? { other: 1 } : { kind: 'DeleteOptions', apiVersion };
      expectAnswer(await leases.delete('a', options), 200, deletedStatus(leaseResource, 'a', metadata.uid));
    });
  }

  const unreadable = unreadableOptions(minor);
  for (const rawBody of ['{', '[]', '{"gracePeriodSeconds":"x"}', '{"kind":"Other","apiVersion":"v1"}']) {
    test(`refuses the body ${rawBody}`, async ({ leases }) => {
      const made = await leases.make({ metadata: { name: 'a' } });
      const [code, body] = unreadable;
      expectAnswer(await leases.delete('a', undefined, { rawBody }), code, body);
      expect((await leases.get('a')).json).toEqual(made);
    });
  }

  test('accepts options in YAML', async ({ leases }) => {
    const { metadata } = await leases.make({ metadata: { name: 'a' } });
    const asked = { rawBody: 'gracePeriodSeconds: 0\n', contentType: 'application/yaml' };
    expectAnswer(
      await leases.delete('a', undefined, asked),
      200,
      deletedStatus(leaseResource, 'a', metadata.uid),
    );
    await expectGone(leases, 'a', gone);
  });

  test('waits for no grace period', async ({ leases }) => {
    for (const [options, query] of [
      [{ gracePeriodSeconds: 30 }, {}],
      [{ gracePeriodSeconds: -5 }, {}],
      [undefined, { gracePeriodSeconds: 30 }],
    ] as const) {
      const { metadata } = await leases.make({ metadata: { name: 'a' } });
      expectAnswer(
        await leases.delete('a', options, { query }),
        200,
        deletedStatus(leaseResource, 'a', metadata.uid),
      );
      await expectGone(leases, 'a', gone);
    }
  });

  test('refuses a grace period that is not a number', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(
      await leases.delete('a', undefined, { query: { gracePeriodSeconds: 'x' } }),
      400,
      badRequest(),
    );
  });

  test('deletes nothing in a dry run', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const done = deletedStatus(leaseResource, 'a', made.metadata.uid);
    expectAnswer(await leases.delete('a', undefined, { query: { dryRun: 'All' } }), 200, done);
    expectAnswer(await leases.delete('a', { dryRun: ['All'] }), 200, done);
    expect((await leases.get('a')).json).toEqual(made);
  });

  test('ignores parameters if there is a body', async ({ leases }) => {
    for (const options of [{}, null]) {
      await leases.make({ metadata: { name: 'a' } });
      const query = { dryRun: 'All', propagationPolicy: 'Other' };
      expect((await leases.delete('a', undefined, { query, rawBody: JSON.stringify(options) })).code).toBe(
        200,
      );
      await expectGone(leases, 'a', gone);
    }
  });

  test('deletes only the object with the required uid and resourceVersion', async ({ leases }) => {
    const { metadata } = await leases.make({ metadata: { name: 'a' } });
    const { uid, resourceVersion } = metadata;
    const wrongUid = conflict(leaseKind, 'a');
    const wrongRevision = conflict(leaseKind, 'a');
    expectAnswer(await leases.delete('a', { preconditions: { uid: 'x' } }), 409, wrongUid);
    expectAnswer(await leases.delete('a', { preconditions: { uid: '' } }), 409, wrongUid);
    expectAnswer(await leases.delete('a', { preconditions: { resourceVersion: '1' } }), 409, wrongRevision);
    expectAnswer(
      await leases.delete('a', { preconditions: { uid: 'x', resourceVersion: '1' } }),
      409,
      wrongUid,
    );
    expectAnswer(await leases.delete('a', { preconditions: { uid: 'x' }, dryRun: ['All'] }), 409, wrongUid);
    expectAnswer(
      await leases.delete('a', { preconditions: { uid, resourceVersion } }),
      200,
      deletedStatus(leaseResource, 'a', uid),
    );
  });

  for (const options of [
    { propagationPolicy: 'Background' },
    { orphanDependents: false },
    { preconditions: {} },
  ]) {
    test(`deletes at once with ${JSON.stringify(options)}`, async ({ leases }) => {
      const { metadata } = await leases.make({ metadata: { name: 'a' } });
      expectAnswer(await leases.delete('a', options), 200, deletedStatus(leaseResource, 'a', metadata.uid));
      await expectGone(leases, 'a', gone);
    });
  }

  for (const [options, finalizer] of [
    [{ propagationPolicy: 'Foreground' }, 'foregroundDeletion'],
    [{ propagationPolicy: 'Orphan' }, 'orphan'],
    [{ orphanDependents: true }, 'orphan'],
  ] as const) {
    test(`leaves the deletion to a garbage collector with ${JSON.stringify(options)}`, async ({ leases }) => {
      const made = await leases.make({ metadata: { name: 'a' } });
      const answer = await leases.delete('a', options);
      const deleting = {
        ...made,
        metadata: {
          ...made.metadata,
          resourceVersion: expect.anything(),
          deletionTimestamp: aTime,
          deletionGracePeriodSeconds: 0,
          finalizers: [finalizer],
        },
      };
      expectAnswer(answer, 200, deleting);
      expectAnswer(await leases.get('a'), 200, deleting);
      expectAnswer(
        await leases.delete('a', { propagationPolicy: 'Background' }),
        200,
        deletedStatus(leaseResource, 'a', made.metadata.uid),
      );
      await expectGone(leases, 'a', gone);
    });
  }

  test('accepts a policy in the parameters, too', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const query = { propagationPolicy: 'Orphan', dryRun: 'All' };
    const answer = await leases.delete('a', undefined, { query });
    expect(answer.json.metadata.finalizers).toEqual(['orphan']);
  });
}
