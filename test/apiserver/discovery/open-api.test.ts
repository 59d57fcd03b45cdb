import { describe, expect, test } from 'vitest';
import { addModel, type Models, openApiDocuments } from '../../../src/apiserver/discovery/open-api.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import type { StructSchema } from '../../../src/apiserver/schema/schema.ts';
import { servedCandidates } from '../../../src/coordination/candidate-sources.ts';
import { isJsonObject } from '../../../src/support/json.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const resources = createResources({ leaseCandidateVersions: servedCandidates });
const documents = openApiDocuments(resources, 'v1.36.3');

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> };
  readonly [field: string]: unknown;
}

function documentAt(path: string): Document {
  const document = documents.get(path);
  if (document === undefined) throw new Error(`there is no document ${path}`);
  return document as unknown as Document;
}

/** Every `$ref` in a value. */
function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isJsonObject(value)) return [];
  const own = typeof value['$ref'] === 'string' ? [value['$ref']] : [];
  return [...own, ...Object.values(value).flatMap(referencesIn)];
}

describe('a model', () => {
  const ref = (name: string) => [{ $ref: `#/components/schemas/${name}` }];
  const part: StructSchema = {
    kind: 'struct',
    name: 'Part',
    model: 'example.v1.Part',
    description: 'A part.',
    isAtomic: true,
    fields: {
      key: { type: { kind: 'string' }, description: 'k', zero: 'fill', isRequired: true },
    },
  };
  const whole: StructSchema = {
    kind: 'struct',
    name: 'Whole',
    model: 'example.v1.Whole',
    description: 'A whole.',
    fields: {
      text: { type: { kind: 'string' }, description: 'a', zero: 'omit' },
      filled: { type: { kind: 'string' }, description: 'b', zero: 'fill' },
      flag: { type: { kind: 'boolean' }, description: 'c', zero: 'fill' },
      count: { type: { kind: 'int32' }, description: 'd', zero: 'fill' },
      large: { type: { kind: 'int64' }, description: 'e', zero: 'keep' },
      when: { type: { kind: 'time' }, description: 'f', zero: 'keep' },
      exactly: { type: { kind: 'microTime' }, description: 'g', zero: 'fill' },
      labels: { type: { kind: 'map', values: { kind: 'string' } }, description: 'h', zero: 'omit' },
      plain: { type: part, description: 'i', zero: 'omit' },
      pointer: { type: part, description: 'j', zero: 'keep' },
      owned: { type: { kind: 'opaque' }, description: 'k', zero: 'keep' },
      atomic: {
        type: { kind: 'list', items: { kind: 'string' }, listType: 'atomic' },
        description: 'l',
        zero: 'omit',
      },
      set: {
        type: { kind: 'list', items: { kind: 'string' }, listType: 'set', patchStrategy: {} },
        description: 'm',
        zero: 'omit',
      },
      parts: {
        type: {
          kind: 'list',
          items: part,
          listType: 'map',
          keys: ['key'],
          patchStrategy: { mergeKey: 'key' },
        },
        description: 'n',
        zero: 'omit',
        isRequired: true,
      },
    },
  };

  test('tells all that a schema knows', () => {
    const models: Models = new Map();
    addModel(models, whole, { 'x-extra': 1 });
    expect(models.get('example.v1.Whole')).toEqual({
      description: 'A whole.',
      type: 'object',
      required: ['parts'],
      'x-extra': 1,
      properties: {
        text: { description: 'a', type: 'string' },
        filled: { description: 'b', type: 'string' },
        flag: { description: 'c', type: 'boolean' },
        count: { description: 'd', type: 'integer', format: 'int32' },
        large: { description: 'e', type: 'integer', format: 'int64' },
        when: { description: 'f', allOf: ref(`${META}.Time`) },
        exactly: { description: 'g', allOf: ref(`${META}.MicroTime`) },
        labels: { description: 'h', type: 'object', additionalProperties: { type: 'string' } },
        plain: { description: 'i', allOf: ref('example.v1.Part') },
        pointer: { description: 'j', allOf: ref('example.v1.Part') },
        owned: { description: 'k', allOf: ref(`${META}.FieldsV1`) },
        atomic: {
          description: 'l',
          type: 'array',
          items: { type: 'string' },
          'x-kubernetes-list-type': 'atomic',
        },
        set: {
          description: 'm',
          type: 'array',
          items: { type: 'string' },
          'x-kubernetes-list-type': 'set',
          'x-kubernetes-patch-strategy': 'merge',
        },
        parts: {
          description: 'n',
          type: 'array',
          items: { allOf: ref('example.v1.Part') },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['key'],
          'x-kubernetes-patch-strategy': 'merge',
          'x-kubernetes-patch-merge-key': 'key',
        },
      },
    });
    expect(models.get('example.v1.Part')).toEqual({
      description: 'A part.',
      type: 'object',
      required: ['key'],
      properties: { key: { description: 'k', type: 'string' } },
      'x-kubernetes-map-type': 'atomic',
    });
    expect([...models.keys()]).toEqual(
      expect.arrayContaining([`${META}.Time`, `${META}.MicroTime`, `${META}.FieldsV1`]),
    );
  });
});

describe('a document', () => {
  test.each([...documents.keys()])('%s refers to nothing that it does not have', (path) => {
    const { components, ...rest } = documentAt(path);
    const known = Object.keys(components.schemas).map((name) => `#/components/schemas/${name}`);
    const missing = referencesIn({ components, ...rest }).filter((each) => !known.includes(each));
    expect(missing).toEqual([]);
  });

  test('has the paths of a resource in namespaces', () => {
    const root = '/apis/coordination.k8s.io/v1';
    const { paths } = documentAt('apis/coordination.k8s.io/v1');
    const actions = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) =>
        method === 'parameters' ? [] : `${method} ${path} ${operation['x-kubernetes-action']}`,
      ),
    );
    const inNamespace = `${root}/namespaces/{namespace}/leases`;
    expect(actions.toSorted()).toEqual(
      [
        `get ${root}/leases list`,
        `get ${inNamespace} list`,
        `post ${inNamespace} post`,
        `delete ${inNamespace} deletecollection`,
        `get ${inNamespace}/{name} get`,
        `put ${inNamespace}/{name} put`,
        `delete ${inNamespace}/{name} delete`,
        `patch ${inNamespace}/{name} patch`,
      ].toSorted(),
    );
    expect(paths[`${inNamespace}/{name}`]?.['parameters']).toMatchObject([
      { name: 'namespace', in: 'path' },
      { name: 'name', in: 'path' },
    ]);
  });

  test('has the paths of a resource outside of them', () => {
    const { paths } = documentAt('api/v1');
    const own = Object.keys(paths).filter((path) => !path.includes('event'));
    expect(own).toEqual(['/api/v1/namespaces', '/api/v1/namespaces/{name}']);
    expect(paths['/api/v1/namespaces']?.['delete']).toBeUndefined();
    expect(paths['/api/v1/namespaces']?.['get']?.['x-kubernetes-action']).toBe('list');
  });

  test('says which resources take strategic merge patches', () => {
    const item = 'namespaces/{namespace}/leasecandidates/{name}';
    const patchesOf = (path: string) =>
      Object.keys(documentAt(path).paths[`/${path}/${item}`]?.['patch']?.requestBody?.content ?? {});
    const others = ['apply-patch+yaml', 'json-patch+json', 'merge-patch+json'];
    expect(patchesOf('apis/coordinated-leader-election.dev/v1alpha1')).toEqual(
      others.map((each) => `application/${each}`),
    );
    expect(patchesOf('apis/coordination.k8s.io/v1beta1')).toEqual(
      [...others, 'strategic-merge-patch+json'].map((each) => `application/${each}`),
    );
  });

  test('says where validation can be left to the server', () => {
    const path = '/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}';
    const patch = documentAt('apis/coordination.k8s.io/v1').paths[path]?.['patch'];
    expect(patch?.['x-kubernetes-group-version-kind']).toEqual({
      group: 'coordination.k8s.io',
      version: 'v1',
      kind: 'Lease',
    });
    expect(patch?.parameters?.map(({ name }) => name)).toEqual([
      'dryRun',
      'fieldManager',
      'fieldValidation',
      'force',
    ]);
  });

  test('says which model is of which kind', () => {
    const { schemas } = documentAt('apis/coordination.k8s.io/v1beta1').components;
    expect(schemas['io.k8s.api.coordination.v1beta1.LeaseCandidate']).toMatchObject({
      'x-kubernetes-group-version-kind': [
        { group: 'coordination.k8s.io', version: 'v1beta1', kind: 'LeaseCandidate' },
      ],
    });
  });
});
