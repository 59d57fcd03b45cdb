import { expect } from 'vitest';
import {
  alreadyExists,
  anUid,
  aRevision,
  aTime,
  badRequest,
  expectAnswer,
  failure,
  invalid,
  invalidObject,
  methodNotAllowed,
  namespaces as namespaceResource,
  notFound,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import {
  type Collection,
  collectionOf,
  expectGone,
  mediaTypes,
  uniqueName,
  type Workspace,
} from '../workspace.ts';

const namespaceKind = { group: '', kind: 'Namespace' };
const nameLabel = 'kubernetes.io/metadata.name';
const ownedNameLabel = { 'f:metadata': { 'f:labels': { '.': {}, [`f:${nameLabel}`]: {} } } };

const namespacesOf = ({ target }: Workspace): Collection =>
  collectionOf(target, '', { apiVersion: 'v1', kind: 'Namespace', resource: 'namespaces' });

function namespaceBody(name: string, metadata: object = {}): object {
  return {
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: {
      name,
      uid: anUid,
      resourceVersion: aRevision,
      creationTimestamp: aTime,
      labels: { [nameLabel]: name },
      managedFields: [updated('conformance', ownedNameLabel, 'v1')],
      ...metadata,
    },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

export function describeNamespaces({ test }: Suite): void {
  test('are created with a label, a finalizer and a phase', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const name = uniqueName('made');
    expectAnswer(await namespaces.create({ metadata: { name } }), 201, namespaceBody(name));
    expectAnswer(await namespaces.get(name), 200, namespaceBody(name));
    expectAnswer(
      await namespaces.create({ metadata: { name } }),
      409,
      alreadyExists(namespaceResource, name),
    );
  });

  test('are listed and watched', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const query = { fieldSelector: `metadata.name=${workspace.namespace}` };
    const { json } = await namespaces.list({ query });
    const made = (await namespaces.get(workspace.namespace)).json;
    const { kind: _k, apiVersion: _a, ...item } = made;
    expect(json).toEqual({
      kind: 'NamespaceList',
      apiVersion: 'v1',
      metadata: { resourceVersion: aRevision },
      items: [item],
    });
    const watch = await namespaces.watch({ query });
    expect(await watch.next()).toEqual({ type: 'ADDED', object: made });
    watch.close();
  });

  test('exist from the beginning', async (workspace) => {
    for (const name of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
      const { code, json } = await namespacesOf(workspace).get(name);
      expect({ code, name: json.metadata.name, status: json['status'] }).toEqual({
        code: 200,
        name,
        status: { phase: 'Active' },
      });
    }
  });

  test('are selected by phase', async (workspace) => {
    const list = (fieldSelector: string) => namespacesOf(workspace).list({ query: { fieldSelector } });
    const own = `metadata.name=${workspace.namespace}`;
    expect((await list(`${own},status.phase=Active`)).json.items).toHaveLength(1);
    expect((await list(`${own},status.phase=Terminating`)).json.items).toHaveLength(0);
    expectAnswer(await list('spec.x=y'), 400, badRequest());
  });

  const label63 = 'x'.repeat(64);
  for (const [name, causes] of [
    ['Bad', [invalid('metadata.name')]],
    ['a.b', [invalid('metadata.name')]],
    [label63, [invalid('metadata.name'), invalid('metadata.labels')]],
  ] as const) {
    test(`refuse the name ${name.slice(0, 10)}`, async (workspace) => {
      expectAnswer(
        await namespacesOf(workspace).create({ metadata: { name } }),
        422,
        invalidObject(namespaceKind, name, causes),
      );
    });
  }

  test('refuse invalid finalizers', async (workspace) => {
    const name = uniqueName('refused');

    expectAnswer(
      await namespacesOf(workspace).create({ metadata: { name }, spec: { finalizers: ['bad one'] } }),
      422,
      invalidObject(namespaceKind, name, [invalid('spec.finalizers'), invalid('spec.finalizers')]),
    );
  });

  test('never lose their label and finalizer', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const { namespace } = workspace;
    const made = (await namespaces.get(namespace)).json;
    expectAnswer(
      await namespaces.mergePatch(namespace, { metadata: { labels: { [nameLabel]: null } } }),
      200,
      made,
    );
    expectAnswer(await namespaces.mergePatch(namespace, { spec: { finalizers: [] } }), 200, made);
    const labelled = uniqueName('labelled');
    const wrong = await namespaces.make({
      metadata: { name: labelled, labels: { [nameLabel]: 'x', a: 'b' } },
    });
    expect(wrong.metadata.labels).toEqual({ [nameLabel]: labelled, a: 'b' });
  });

  test('are updated without a resourceVersion, too, but not created by PUT', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const { namespace } = workspace;
    const { code, json } = await namespaces.replace(namespace, {
      metadata: { name: namespace, labels: { a: 'b' } },
    });
    expect({ code, labels: json.metadata.labels }).toEqual({
      code: 200,
      labels: { a: 'b', [nameLabel]: namespace },
    });
    expectAnswer(
      await namespaces.replace('does-not-exist', { metadata: { name: 'does-not-exist' } }),
      404,
      notFound(namespaceResource, 'does-not-exist'),
    );
  });

  test('are created by an apply', async (workspace) => {
    const name = uniqueName('applied');
    expectAnswer(
      await namespacesOf(workspace).apply(name, 'm', { metadata: { name } }),
      201,
      namespaceBody(name, { managedFields: undefined }),
    );
  });

  test('are emptied before their deletion', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const { namespace, leases } = workspace;
    const made = (await namespaces.get(namespace)).json;
    const terminating = (revision: unknown) => ({
      ...made,
      metadata: { ...made.metadata, resourceVersion: revision, deletionTimestamp: aTime },
      status: { phase: 'Terminating' },
    });
    const wouldBe = await namespaces.delete(namespace, { dryRun: ['All'] });
    expectAnswer(wouldBe, 200, terminating(made.metadata.resourceVersion));
    const deleted = await namespaces.delete(namespace);
    expectAnswer(deleted, 200, terminating(aRevision));
    expectAnswer(await namespaces.get(namespace), 200, deleted.json);
    expectAnswer(await namespaces.delete(namespace), 200, deleted.json);
    expectAnswer(
      await leases.create({ metadata: { name: 'a' } }),
      403,
      failure(403, 'Forbidden', {
        name: 'a',
        group: 'coordination.k8s.io',
        kind: 'leases',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      }),
    );
  });

  test('stay while they are emptied, whatever else is changed', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const { leases } = workspace;
    const name = workspace.namespace;
    await leases.make({ metadata: { name: 'held', finalizers: ['a/b'] } });
    await namespaces.mergePatch(name, { metadata: { finalizers: ['c/d'] } });
    await namespaces.delete(name);
    const labelled = await namespaces.mergePatch(name, { metadata: { labels: { x: 'y' } } });
    expect(labelled.code).toBe(200);
    const freed = await namespaces.mergePatch(name, { metadata: { finalizers: null } });
    expect(freed.code).toBe(200);
    expectAnswer(await namespaces.get(name), 200, freed.json);
    expect(freed.json).toMatchObject({
      metadata: { deletionTimestamp: aTime },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Terminating' },
    });
    expect((await leases.mergePatch('held', { metadata: { finalizers: null } })).code).toBe(200);
    expect((await leases.delete('held')).code).toBe(200);
  });

  test('lose their finalizers through the subresource finalize', async (workspace) => {
    const namespaces = namespacesOf(workspace);
    const name = uniqueName('finalized');
    const path = `/api/v1/namespaces/${name}/finalize`;
    const made = await namespaces.make({ metadata: { name }, spec: { finalizers: ['a/b'] } });
    expect(made['spec']).toEqual({ finalizers: ['a/b', 'kubernetes'] });
    const finalize = (finalizers: readonly string[]) =>
      workspace.request('PUT', path, {
        body: { ...made, metadata: { name }, spec: { finalizers }, status: { phase: 'x' } },
      });

    expectAnswer(
      await finalize(['a/b', 'x']),
      422,
      invalidObject(namespaceKind, name, [invalid('spec.finalizers[1]')]),
    );
    const ownSpec = updated('conformance', { 'f:spec': { 'f:finalizers': {} } }, 'v1');
    const managedFields = [
      updated('conformance', ownedNameLabel, 'v1'),
      { ...ownSpec, subresource: 'finalize' },
    ];
    expectAnswer(await finalize(['a/b']), 200, {
      ...namespaceBody(name, { managedFields }),
      spec: { finalizers: ['a/b'] },
    });
    expect((await namespaces.delete(name)).code).toBe(200);
    expect((await namespaces.get(name)).json['spec']).toEqual({ finalizers: ['a/b'] });
    expectAnswer(await workspace.request('GET', path), 405, methodNotAllowed);
    expectAnswer(
      await workspace.request('PATCH', path, { body: {}, contentType: mediaTypes.mergePatch }),
      405,
      methodNotAllowed,
    );
    expect((await finalize([])).code).toBe(200);
    await expectGone(namespaces, name, notFound(namespaceResource, name));
    expectAnswer(await finalize([]), 404, notFound(namespaceResource, name));
  });

  for (const [propagationPolicy, finalizers] of [
    ['Foreground', ['foregroundDeletion']],
    ['Orphan', ['orphan']],
    ['Background', undefined],
  ] as const) {
    test(`are marked for a garbage collector by a deletion with ${propagationPolicy}`, async (workspace) => {
      const deleted = await namespacesOf(workspace).delete(workspace.namespace, { propagationPolicy });
      expect({ code: deleted.code, finalizers: deleted.json.metadata.finalizers }).toEqual({
        code: 200,
        finalizers,
      });
    });
  }

  test('can be protected from deletion', async (workspace) => {
    for (const name of ['default', 'kube-system', 'kube-public']) {
      expectAnswer(
        await namespacesOf(workspace).delete(name),
        403,
        failure(403, 'Forbidden', {
          name,
          kind: 'namespaces',
        }),
      );
    }
    expectAnswer(await namespacesOf(workspace).deleteAll(), 405, methodNotAllowed);
    expectAnswer(
      await namespacesOf(workspace).delete('does-not-exist'),
      404,
      notFound(namespaceResource, 'does-not-exist'),
    );
  });

  test('are shown as a table', async (workspace) => {
    const { json } = await namespacesOf(workspace).get(workspace.namespace, {
      accept: `${mediaTypes.table},application/json`,
    });
    const columns = json['columnDefinitions'] as readonly { readonly name: string }[];
    expect(columns.map(({ name }) => name)).toEqual(['Name', 'Status', 'Age']);
    expect(json['rows']).toEqual([
      expect.objectContaining({ cells: [workspace.namespace, 'Active', expect.stringMatching(/^\d+s$/)] }),
    ]);
  });
}
