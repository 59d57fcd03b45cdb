import { describe, expect, test } from 'vitest';
import type { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { representationOf } from '../../../src/apiserver/http/representation.ts';
import type { ResourceDefinition, VersionDefinition } from '../../../src/apiserver/kinds/definition.ts';
import type { Representation } from '../../../src/apiserver/operations/request.ts';
import type { ApiObject } from '../../../src/apiserver/schema/api-object.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { resources } from './make-front.ts';

const clock = new VirtualClock({ wallStartMs: Date.UTC(2026, 0, 1, 0, 5) });
const definition = found(resources.find(({ resource }) => resource === 'leases'));
const version = found(definition.versions[0]);
const lease: ApiObject = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: 'a',
    namespace: 'default',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
  spec: { holderIdentity: 'h' },
};
const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' } as unknown as ApiObject;
const metadata = { resourceVersion: '9', continue: 'c' };
const { metadata: leaseMetadata } = lease;

function found<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('there is no such resource');
  return value;
}

function shownAs(kind: string, query = ''): Representation {
  const transform = { group: 'meta.k8s.io', version: 'v1', kind };
  return representationOf(transform, new URLSearchParams(query), clock);
}

function columnNames(shown: { readonly [field: string]: unknown }): unknown {
  const columns = shown['columnDefinitions'];
  return Array.isArray(columns) ? columns.map(({ name }) => name) : columns;
}

function list(
  representation: Representation,
  items: readonly ApiObject[],
  of: ResourceDefinition = definition,
  as: VersionDefinition = version,
) {
  const { head, field, show } = representation.listForm(metadata, of, as);
  return { ...head, [field]: items.map(show) };
}

describe('objects as they are', () => {
  const plain = representationOf(undefined, new URLSearchParams(), clock);

  test('are shown unchanged', () => {
    expect(plain.show(lease, version)).toBe(lease);
  });

  test('have no kind of their own in a list', () => {
    expect(list(plain, [lease])).toEqual({
      kind: 'LeaseList',
      apiVersion: 'coordination.k8s.io/v1',
      metadata,
      items: [{ metadata: leaseMetadata, spec: { holderIdentity: 'h' } }],
    });
  });

  test('make an empty list where there are none', () => {
    expect(list(plain, [])['items']).toEqual([]);
  });

  test('are listed under the version alone in the core group', () => {
    const namespaces = found(resources.find(({ resource }) => resource === 'namespaces'));
    expect(list(plain, [], namespaces, found(namespaces.versions[0]))).toMatchObject({
      kind: 'NamespaceList',
      apiVersion: 'v1',
    });
  });
});

describe('metadata alone', () => {
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: leaseMetadata };

  test('is shown of an object', () => {
    expect(shownAs('PartialObjectMetadata').show(lease, version)).toEqual(partial);
  });

  test('is shown of each object of a list', () => {
    expect(list(shownAs('PartialObjectMetadataList'), [lease])).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata,
      items: [partial],
    });
  });

  test('is not all that is shown of a Status', () => {
    expect(shownAs('PartialObjectMetadata').show(status, version)).toBe(status);
  });
});

describe('a table', () => {
  test('has a row for an object', () => {
    expect(shownAs('Table').show(lease, version)).toEqual({
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: '7' },
      columnDefinitions: [
        { name: 'Name', type: 'string', format: 'name', description: expect.any(String), priority: 0 },
        { name: 'Holder', type: 'string', format: '', description: expect.any(String), priority: 0 },
        { name: 'Age', type: 'string', format: '', description: expect.any(String), priority: 0 },
      ],
      rows: [
        {
          cells: ['a', 'h', '5m'],
          object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: leaseMetadata },
        },
      ],
    });
  });

  test('has a row for each object of a list, and what the list says of itself', () => {
    expect(list(shownAs('Table', 'includeObject=None'), [lease, lease])).toMatchObject({
      metadata,
      rows: [
        { cells: ['a', 'h', '5m'], object: null },
        { cells: ['a', 'h', '5m'], object: null },
      ],
    });
  });

  test.each([
    {
      query: '',
      want: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: leaseMetadata },
    },
    {
      query: 'includeObject=Metadata',
      want: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: leaseMetadata },
    },
    { query: 'includeObject=None', want: null },
    { query: 'includeObject=Object', want: lease },
  ])('has in its rows what "$query" asks for', ({ query, want }) => {
    const [row] = shownAs('Table', query).show(lease, version)['rows'] as { object: unknown }[];
    expect(row?.object).toEqual(want);
  });

  test('includes nothing that there is not', () => {
    expect(refusal(() => shownAs('Table', 'includeObject=Nope'))).toMatchObject({
      code: 400,
      message: `Unable to convert to Table as requested: includeObject: Invalid value: "Nope": must be 'Metadata', 'Object', 'None', or empty`,
    });
  });

  test('names its columns in the first event of a watch only', () => {
    const table = shownAs('Table');
    expect(columnNames(table.show(lease, version))).toEqual(['Name', 'Holder', 'Age']);
    expect(columnNames(table.following?.show(lease, version) ?? {})).toBeNull();
  });

  test('of each sort can be told from the others', () => {
    const tables = [shownAs('Table'), shownAs('Table', 'includeObject=None'), shownAs('Table').following];
    expect(new Set(tables.map((table) => table?.id)).size).toBe(tables.length);
    expect(shownAs('Table', 'includeObject=Metadata').id).toBe(shownAs('Table').id);
  });

  test('shows what a bookmark has', () => {
    const bookmark = { ...lease, metadata: { resourceVersion: '8' }, spec: {} } as unknown as ApiObject;
    expect(shownAs('Table').show(bookmark, version)['rows']).toMatchObject([
      { cells: ['', '', '<unknown>'] },
    ]);
  });

  test('shows a Status as it is', () => {
    expect(shownAs('Table').show(status, version)).toBe(status);
  });
});

function refusal(show: () => unknown): ApiError['status'] {
  try {
    show();
  } catch (error) {
    return (error as ApiError).status;
  }
  throw new Error('it was shown');
}
