import { describe, expect, test } from 'vitest';
import { openApiDocuments } from '../../../src/apiserver/discovery/open-api.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import { servedCandidates } from '../../../src/coordination/candidate-sources.ts';
import { isJsonObject } from '../../../src/support/json.ts';

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

describe('a document', () => {
  test.each([...documents.keys()])('%s refers to nothing that it does not have', (path) => {
    const { components, ...rest } = documentAt(path);
    const known = Object.keys(components.schemas).map((name) => `#/components/schemas/${name}`);
    const missing = referencesIn({ components, ...rest }).filter((each) => !known.includes(each));
    expect(missing).toEqual([]);
  });

  test('describes the paths of a resource', () => {
    const { paths } = documentAt('api/v1');
    const own = Object.keys(paths).filter((path) => !path.includes('event'));
    expect(own).toEqual(['/api/v1/namespaces', '/api/v1/namespaces/{name}']);
    expect(paths['/api/v1/namespaces']?.['delete']).toBeUndefined();
    expect(paths['/api/v1/namespaces']?.['get']?.['x-kubernetes-action']).toBe('list');
  });
});
