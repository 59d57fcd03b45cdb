import { expect } from 'vitest';
import type { Suite } from '../suite.ts';
import type { Workspace } from '../workspace.ts';

interface Schema {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly [field: string]: unknown;
}

interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly [field: string]: unknown }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

/** Returns the document of a group and version, through the index. */
async function documentOf({ request }: Workspace, groupVersion: string): Promise<Document> {
  const index = await request('GET', '/openapi/v3');
  const paths = index.json['paths'] as Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  const answer = await request('GET', paths[groupVersion]?.serverRelativeURL ?? '/no-such-document');
  expect(answer.code, groupVersion).toBe(200);
  return answer.json as unknown as Document;
}

const model = (version: string, name: string) => `io.k8s.api.coordination.${version}.${name}`;
const ref = (name: string) => [{ $ref: `#/components/schemas/${name}` }];
const microTime = 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime';

export function describeOpenApi({ test, candidateVersions }: Suite): void {
  test('has a document for each version, which clients may cache for ever', async ({ request }) => {
    const index = await request('GET', '/openapi/v3');
    const paths = index.json['paths'] as Readonly<Record<string, { readonly serverRelativeURL: string }>>;
    for (const groupVersion of [
      'api/v1',
      'apis/coordination.k8s.io/v1',
      ...candidateVersions.map((version) => `apis/coordination.k8s.io/${version}`),
    ]) {
      const url = paths[groupVersion]?.serverRelativeURL ?? '';
      const [path, hash] = url.split('?hash=');
      expect({ path, hash }).toEqual({
        path: `/openapi/v3/${groupVersion}`,
        hash: expect.stringMatching(/^[0-9A-F]+$/),
      });
      const answer = await request('GET', url);
      expect({ code: answer.code, headers: answer.headers }).toMatchObject({
        code: 200,
        headers: {
          'content-type': 'application/json',
          'cache-control': expect.stringMatching(/^public, immutable/),
          etag: expect.stringMatching(/^"[0-9A-F]+"$/),
        },
      });
      const again = await request('GET', url, {
        headers: { 'if-none-match': answer.headers['etag'] ?? '' },
      });
      expect({ code: again.code, text: again.text }).toEqual({ code: 304, text: '' });
      expect((await request('GET', `/openapi/v3/${groupVersion}`)).code).toBe(200);
    }
  });

  test('has no other documents', async ({ request }) => {
    expect((await request('GET', '/openapi/v3/apis/no-such-group/v1')).code).toBe(404);
  });

  test('describes every field of a Lease', async (workspace) => {
    const { openapi, components } = await documentOf(workspace, 'apis/coordination.k8s.io/v1');
    expect(openapi).toMatch(/^3\.0\./);
    const lease = components.schemas[model('v1', 'Lease')];
    expect(lease).toMatchObject({
      type: 'object',
      description: expect.any(String),
      'x-kubernetes-group-version-kind': [{ group: 'coordination.k8s.io', kind: 'Lease', version: 'v1' }],
      properties: {
        apiVersion: { type: 'string', description: expect.any(String) },
        kind: { type: 'string', description: expect.any(String) },
        metadata: { allOf: ref('io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta') },
        spec: { allOf: ref(model('v1', 'LeaseSpec')) },
      },
    });
    const spec = components.schemas[model('v1', 'LeaseSpec')];
    const described = (type: object) => ({ description: expect.stringMatching(/\S/), ...type });
    expect(spec).toEqual({
      type: 'object',
      description: expect.stringMatching(/\S/),
      properties: {
        acquireTime: described({ allOf: ref(microTime) }),
        holderIdentity: described({ type: 'string' }),
        leaseDurationSeconds: described({ type: 'integer', format: 'int32' }),
        leaseTransitions: described({ type: 'integer', format: 'int32' }),
        preferredHolder: described({ type: 'string' }),
        renewTime: described({ allOf: ref(microTime) }),
        strategy: described({ type: 'string' }),
      },
    });
    expect(components.schemas[microTime]).toMatchObject({ type: 'string', format: 'date-time' });
  });

  test('describes every field of a LeaseCandidate', async (workspace) => {
    for (const version of candidateVersions) {
      const { components } = await documentOf(workspace, `apis/coordination.k8s.io/${version}`);
      const spec = components.schemas[model(version, 'LeaseCandidateSpec')];
      const strategy = version === 'v1alpha1' ? 'preferredStrategies' : 'strategy';
      expect(Object.keys(spec?.properties ?? {}).sort()).toEqual(
        ['binaryVersion', 'emulationVersion', 'leaseName', 'pingTime', 'renewTime', strategy].sort(),
      );
      expect([...(spec?.required ?? [])].sort()).toEqual(
        (version === 'v1alpha1' ? ['leaseName', strategy] : ['binaryVersion', 'leaseName', strategy]).sort(),
      );
      expect(components.schemas[model(version, 'LeaseCandidate')]).toMatchObject({
        'x-kubernetes-group-version-kind': [
          { group: 'coordination.k8s.io', kind: 'LeaseCandidate', version },
        ],
      });
    }
  });

  test('describes how lists and maps of the metadata are merged', async (workspace) => {
    const { components } = await documentOf(workspace, 'apis/coordination.k8s.io/v1');
    const { properties = {} } = components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'] ?? {};
    expect(properties['finalizers']).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'set',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(properties['ownerReferences']).toMatchObject({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-merge-key': 'uid',
      'x-kubernetes-patch-strategy': 'merge',
    });
    expect(properties['managedFields']).toMatchObject({ 'x-kubernetes-list-type': 'atomic' });
    expect(properties['labels']).toMatchObject({
      type: 'object',
      additionalProperties: { type: 'string' },
    });
    expect(components.schemas['io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference']).toMatchObject({
      'x-kubernetes-map-type': 'atomic',
      required: ['apiVersion', 'kind', 'name', 'uid'],
    });
  });

  test('describes the operations of each path', async (workspace) => {
    const { paths } = await documentOf(workspace, 'apis/coordination.k8s.io/v1');
    const group = { group: 'coordination.k8s.io', kind: 'Lease', version: 'v1' };
    const root = '/apis/coordination.k8s.io/v1';
    const actions = (path: string) =>
      Object.fromEntries(
        Object.entries(paths[path] ?? {})
          .filter(([method]) => method !== 'parameters')
          .map(([method, operation]) => [method, operation['x-kubernetes-action']]),
      );
    expect(actions(`${root}/leases`)).toEqual({ get: 'list' });
    expect(actions(`${root}/namespaces/{namespace}/leases`)).toEqual({
      get: 'list',
      post: 'post',
      delete: 'deletecollection',
    });
    expect(actions(`${root}/namespaces/{namespace}/leases/{name}`)).toEqual({
      get: 'get',
      put: 'put',
      patch: 'patch',
      delete: 'delete',
    });
    const patch = paths[`${root}/namespaces/{namespace}/leases/{name}`]?.['patch'];
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual(group);
    // kubectl reads here whether the server validates fields.
    const parameters = patch?.['parameters'] as readonly { readonly name: string }[];
    expect(parameters.map(({ name }) => name).sort()).toEqual([
      'dryRun',
      'fieldManager',
      'fieldValidation',
      'force',
    ]);
  });
}
