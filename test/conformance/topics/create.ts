import { expect } from 'vitest';
import {
  alreadyExists,
  anUid,
  badRequest,
  expectAnswer,
  failure,
  lease,
  leases as leaseResource,
  namespaces,
  notFound,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';

const fullSpec = {
  holderIdentity: 'holder',
  leaseDurationSeconds: 10,
  acquireTime: '2026-01-01T00:00:00.123456Z',
  renewTime: '2026-01-02T00:00:00.000000Z',
  leaseTransitions: 0,
  strategy: 'OldestEmulationVersion',
  preferredHolder: 'other',
};

export function describeCreate({ test }: Suite): void {
  test('returns the object, without owners while no field is set', async ({ namespace, leases }) => {
    expectAnswer(await leases.create({ metadata: { name: 'a' } }), 201, lease(namespace, 'a'));
  });

  test('returns all set fields, and their managers', async ({ namespace, leases }) => {
    const answer = await leases.create({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'a', labels: { x: 'y' }, annotations: { c: 'd' } },
      spec: fullSpec,
    });
    const fields = {
      'f:metadata': { 'f:annotations': { '.': {}, 'f:c': {} }, 'f:labels': { '.': {}, 'f:x': {} } },
      'f:spec': Object.fromEntries(Object.keys(fullSpec).map((field) => [`f:${field}`, {}])),
    };
    const metadata = {
      labels: { x: 'y' },
      annotations: { c: 'd' },
      managedFields: [updated('conformance', fields)],
    };
    const body = lease(namespace, 'a', { metadata, spec: fullSpec });
    expectAnswer(answer, 201, body);
    expectAnswer(await leases.get('a'), 200, body);
    expect((await leases.get('a')).json).toEqual(answer.json);
  });

  test('needs no kind and no apiVersion, and accepts either alone', async ({ namespace, leases }) => {
    expectAnswer(await leases.create({ kind: 'Lease', metadata: { name: 'a' } }), 201, lease(namespace, 'a'));
    expectAnswer(
      await leases.create({ apiVersion: 'coordination.k8s.io/v1', metadata: { name: 'b' } }),
      201,
      lease(namespace, 'b'),
    );
  });

  test('refuses an existing name', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await leases.create({ metadata: { name: 'a' } }), 409, alreadyExists(leaseResource, 'a'));
  });

  test('validates the object before it checks whether the name exists', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const answer = await leases.create({ metadata: { name: 'a' }, spec: { leaseTransitions: -1 } });
    expect(answer.code).toBe(422);
  });

  test('refuses a namespace that does not exist', async ({ request }) => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/does-not-exist/leases';
    const answer = await request('POST', path, { body: { metadata: { name: 'a' } } });
    expectAnswer(answer, 404, notFound(namespaces, 'does-not-exist'));
  });

  test('refuses an object of another namespace', async ({ leases }) => {
    expectAnswer(await leases.create({ metadata: { name: 'a', namespace: 'other' } }), 400, badRequest());
  });

  test('accepts an object with its own namespace', async ({ namespace, leases }) => {
    expectAnswer(await leases.create({ metadata: { name: 'a', namespace } }), 201, lease(namespace, 'a'));
  });

  test('refuses an object that was already stored', async ({ leases }) => {
    expectAnswer(
      await leases.create({ metadata: { name: 'a', resourceVersion: '5' } }),
      500,
      failure(500, ''),
    );
  });

  test('sets the server’s own fields, but keeps a generation', async ({ namespace, leases }) => {
    const answer = await leases.create({
      metadata: {
        name: 'a',
        uid: 'mine',
        creationTimestamp: '2020-01-01T00:00:00Z',
        deletionTimestamp: '2020-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
        selfLink: '/a',
        generation: 5,
      },
    });
    expectAnswer(answer, 201, lease(namespace, 'a', { metadata: { generation: 5, uid: anUid } }));
    expect(answer.json.metadata.creationTimestamp).not.toBe('2020-01-01T00:00:00Z');
  });

  test('gives every object a new uid and a later revision', async ({ leases }) => {
    const first = await leases.make({ metadata: { name: 'a' } });
    await leases.delete('a');
    const second = await leases.make({ metadata: { name: 'a' } });
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(BigInt(second.metadata.resourceVersion)).toBeGreaterThan(BigInt(first.metadata.resourceVersion));
  });

  test('keeps valid managedFields, and drops invalid ones', async ({ namespace, leases }) => {
    const entry = {
      manager: 'm',
      operation: 'Update',
      apiVersion: 'coordination.k8s.io/v1',
      fieldsType: 'FieldsV1',
      time: '2020-01-01T00:00:00Z',
      fieldsV1: { 'f:spec': {} },
    };
    expectAnswer(
      await leases.create({ metadata: { name: 'a', managedFields: [entry] } }),
      201,
      lease(namespace, 'a', { metadata: { managedFields: [entry] } }),
    );
    expectAnswer(
      await leases.create({ metadata: { name: 'b', managedFields: [{ ...entry, operation: 'Other' }] } }),
      201,
      lease(namespace, 'b'),
    );
  });

  test('takes the field manager from the parameter, or from the beginning of the User-Agent', async ({
    leases,
  }) => {
    const metadata = { labels: { a: 'b' } };
    const managers = [
      await leases.make({ metadata: { ...metadata, name: 'a' } }, { query: { fieldManager: 'me' } }),
      await leases.make({ metadata: { ...metadata, name: 'b' } }, { userAgent: 'tool/v1 (linux) more/2' }),
      await leases.make({ metadata: { ...metadata, name: 'c' } }, { userAgent: 'plain' }),
      await leases.make(
        { metadata: { ...metadata, name: 'd' } },
        { query: { fieldManager: 'x'.repeat(128) } },
      ),
    ].map((object) => object.metadata.managedFields?.[0]?.['manager']);
    expect(managers).toEqual(['me', 'tool', 'plain', 'x'.repeat(128)]);
  });
}
