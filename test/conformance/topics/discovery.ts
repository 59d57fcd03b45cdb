import { expect } from 'vitest';
import { expectAnswer, methodNotAllowed, noSuchPath } from '../expected.ts';
import type { Suite } from '../suite.ts';
import type { Answer } from '../target.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
const namespaceVerbs = verbs.filter((verb) => verb !== 'deletecollection');

const aggregated =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

interface Named {
  readonly name: string;
}

/** Without the storageVersionHash, which is for storage migrations of a real server. */
export function withoutStorageHash(answer: Answer): Answer {
  return { ...answer, text: answer.text.replaceAll(/,"storageVersionHash":"[^"]*"/g, '') };
}

export function describeDiscovery({ test, minor, candidateVersions }: Suite): void {
  const groupVersions = ['v1', ...candidateVersions].map((version) => ({
    groupVersion: `coordination.k8s.io/${version}`,
    version,
  }));
  const group = {
    name: 'coordination.k8s.io',
    versions: groupVersions,
    preferredVersion: { groupVersion: 'coordination.k8s.io/v1', version: 'v1' },
  };

  test('returns the versions of the core group', async ({ request }) => {
    expectAnswer(await request('GET', '/api'), 200, {
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: expect.any(String) }],
    });
  });

  test('returns the groups', async ({ request }) => {
    const { code, json } = await request('GET', '/apis');
    expect({ code, kind: json['kind'], apiVersion: json['apiVersion'] }).toEqual({
      code: 200,
      kind: 'APIGroupList',
      apiVersion: 'v1',
    });
    const groups = json['groups'] as readonly Named[];
    expect(groups.find(({ name }) => name === 'coordination.k8s.io')).toEqual(group);
  });

  test('describes a group', async ({ request }) => {
    expectAnswer(await request('GET', '/apis/coordination.k8s.io'), 200, {
      kind: 'APIGroup',
      apiVersion: 'v1',
      ...group,
    });
  });

  test('returns the resources of each version', async ({ request }) => {
    const resources = (groupVersion: string, list: readonly object[]) => ({
      kind: 'APIResourceList',
      // The core group's list is older than the other kinds.
      ...(groupVersion !== 'v1' && { apiVersion: 'v1' }),
      groupVersion,
      resources: list,
    });
    const resource = (name: string, singularName: string, kind: string, more: object = {}) => ({
      name,
      singularName,
      namespaced: true,
      kind,
      verbs,
      ...more,
    });
    expectAnswer(
      withoutStorageHash(await request('GET', '/apis/coordination.k8s.io/v1')),
      200,
      resources('coordination.k8s.io/v1', [resource('leases', 'lease', 'Lease')]),
    );
    for (const version of candidateVersions) {
      expectAnswer(
        withoutStorageHash(await request('GET', `/apis/coordination.k8s.io/${version}`)),
        200,
        resources(`coordination.k8s.io/${version}`, [
          resource('leasecandidates', 'leasecandidate', 'LeaseCandidate'),
        ]),
      );
    }
    const core = JSON.parse(withoutStorageHash(await request('GET', '/api/v1')).text);
    const served = core.resources as readonly Named[];
    expect({
      ...core,
      resources: served.filter(({ name }) => name === 'events' || name === 'namespaces'),
    }).toEqual(
      resources('v1', [
        resource('events', 'event', 'Event', { shortNames: ['ev'] }),
        resource('namespaces', 'namespace', 'Namespace', {
          namespaced: false,
          shortNames: ['ns'],
          verbs: namespaceVerbs,
        }),
      ]),
    );
  });

  test('has no other versions', async ({ request }) => {
    for (const version of ['v1beta1', 'v1alpha2', 'v1alpha1', 'v2']) {
      if (candidateVersions.includes(version)) continue;
      expectAnswer(await request('GET', `/apis/coordination.k8s.io/${version}`), 404, noSuchPath);
    }
  });

  test('returns everything in one request to clients that ask for it', async ({ request }) => {
    const answer = await request('GET', '/apis', { accept: aggregated });
    const responseKind = (kind: string) => ({ group: '', version: '', kind });
    const resource = (name: string, singularResource: string, kind: string, more: object = {}) => ({
      resource: name,
      responseKind: responseKind(kind),
      scope: 'Namespaced',
      singularResource,
      verbs,
      ...more,
    });
    // Up to 1.33, servers write an empty creationTimestamp.
    const empty = minor >= 34 ? {} : { creationTimestamp: null };
    const groups = answer.json.items.filter(({ metadata }) => metadata.name === 'coordination.k8s.io');
    expect({ ...answer.json, items: groups }).toEqual({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: expect.arrayContaining([
        {
          metadata: { name: 'coordination.k8s.io', ...empty },
          versions: [
            { version: 'v1', resources: [resource('leases', 'lease', 'Lease')], freshness: 'Current' },
            ...candidateVersions.map((version) => ({
              version,
              resources: [resource('leasecandidates', 'leasecandidate', 'LeaseCandidate')],
              freshness: 'Current',
            })),
          ],
        },
      ]),
    });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
      vary: 'Accept',
      'cache-control': 'public',
      etag: expect.stringMatching(/^"[0-9A-F]+"$/),
    });
  });

  test('returns the core group in one request, too', async ({ request }) => {
    const { json } = await request('GET', '/api', { accept: aggregated });
    expect(json).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' });
    const versions = (json.items[0]?.['versions'] ?? []) as readonly {
      readonly version: string;
      readonly resources: readonly { readonly resource: string }[];
    }[];
    expect(versions.map(({ version }) => version)).toEqual(['v1']);
    expect(versions[0]?.resources.find(({ resource }) => resource === 'namespaces')).toMatchObject({
      resource: 'namespaces',
      responseKind: { group: '', version: '', kind: 'Namespace' },
      scope: 'Cluster',
      singularResource: 'namespace',
      verbs: namespaceVerbs,
      shortNames: ['ns'],
    });
  });

  test('answers 304 to clients with the same version', async ({ request }) => {
    for (const path of ['/apis', '/api']) {
      const { headers } = await request('GET', path, { accept: aggregated });
      const asked = { accept: aggregated, headers: { 'if-none-match': headers['etag'] ?? '' } };
      const { code, text } = await request('GET', path, asked);
      expect({ code, text }).toEqual({ code: 304, text: '' });
    }
  });

  test('is read-only', async ({ request }) => {
    for (const version of ['v1', ...candidateVersions]) {
      const path = `/apis/coordination.k8s.io/${version}`;
      expectAnswer(await request('POST', path, { body: {} }), 405, methodNotAllowed);
    }
  });

  test('returns its version', async ({ request }) => {
    const { code, json, text } = await request('GET', '/version');
    expect(code).toBe(200);
    expect(json).toMatchObject({
      major: '1',
      minor: String(minor),
      gitVersion: expect.stringMatching(new RegExp(`^v1\\.${minor}\\.\\d+`)),
      gitCommit: expect.any(String),
      gitTreeState: expect.any(String),
      buildDate: expect.any(String),
      goVersion: expect.any(String),
      compiler: expect.any(String),
      platform: expect.any(String),
    });
    expect(text.startsWith('{\n  "major": "1",\n')).toBe(true);
  });

  test('reports that it is alive and ready', async ({ request }) => {
    for (const path of ['/livez', '/readyz', '/healthz']) {
      const { code, headers, text } = await request('GET', path);
      expect({ code, text, type: headers['content-type'] }).toEqual({
        code: 200,
        text: 'ok',
        type: 'text/plain; charset=utf-8',
      });
    }
    const verbose = await request('GET', '/readyz?verbose');
    expect(verbose.text).toMatch(/^\[\+\]ping ok\n(\[\+\]\S+ ok\n)*readyz check passed\n$/);
  });
}
