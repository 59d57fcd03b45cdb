import { expect } from 'vitest';
import { aRevision, badRequest, expectAnswer } from '../expected.ts';
import type { Suite } from '../suite.ts';
import { mediaTypes } from '../workspace.ts';

const table = `${mediaTypes.table},application/json`;
const anAge = expect.stringMatching(/^\d+s$/);

const column = (name: string, type: string, format = '') => ({
  name,
  type,
  format,
  // In the embedded server's own words.
  description: expect.any(String),
  priority: 0,
});
const leaseColumns = [column('Name', 'string', 'name'), column('Holder', 'string'), column('Age', 'string')];

export function describeTable({ test }: Suite): void {
  test('shows an object as a row', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const answer = await leases.get('a', { accept: table });
    expectAnswer(answer, 200, {
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: made.metadata.resourceVersion },
      columnDefinitions: leaseColumns,
      rows: [
        {
          cells: ['a', 'h', anAge],
          object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: made.metadata },
        },
      ],
    });
    expect(answer.headers['content-type']).toBe('application/json');
  });

  test('shows an empty holder as an empty cell', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const rows = (await leases.get('a', { accept: table })).json['rows'];
    expect(rows).toEqual([expect.objectContaining({ cells: ['a', '', anAge] })]);
  });

  test('shows a list as its rows, page by page', async ({ leases }) => {
    for (const name of ['a', 'b', 'c']) await leases.make({ metadata: { name } });
    const first = await leases.list({ accept: table, query: { limit: 2 } });
    expectAnswer(first, 200, {
      kind: 'Table',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: aRevision, continue: expect.any(String), remainingItemCount: 1 },
      columnDefinitions: leaseColumns,
      rows: [
        expect.objectContaining({ cells: ['a', '', anAge] }),
        expect.objectContaining({ cells: ['b', '', anAge] }),
      ],
    });
    const query = { continue: first.json.metadata.continue ?? '' };
    expect((await leases.list({ accept: table, query })).json['rows']).toEqual([
      expect.objectContaining({ cells: ['c', '', anAge] }),
    ]);
  });

  test('has no rows for an empty list', async ({ leases }) => {
    const { json } = await leases.list({ accept: table });
    expect({ columns: json['columnDefinitions'], rows: json['rows'] }).toEqual({
      columns: leaseColumns,
      rows: [],
    });
  });

  test('contains the requested part of the objects', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' }, spec: { holderIdentity: 'h' } });
    const metadata = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: made.metadata };
    for (const [includeObject, object] of [
      ['None', null],
      ['Metadata', metadata],
      ['', metadata],
      ['Object', made],
    ] as const) {
      const { json } = await leases.get('a', { accept: table, query: { includeObject } });
      expect([includeObject, json['rows']]).toEqual([includeObject, [{ cells: ['a', 'h', anAge], object }]]);
    }
    expectAnswer(
      await leases.get('a', { accept: table, query: { includeObject: 'Other' } }),
      400,
      badRequest(),
    );
  });

  test('is an answer to writes, too', async ({ leases }) => {
    const created = await leases.create({ metadata: { name: 'a' } }, { accept: table });
    expect({ code: created.code, kind: created.json['kind'], rows: created.json['rows'] }).toEqual({
      code: 201,
      kind: 'Table',
      rows: [expect.objectContaining({ cells: ['a', '', anAge] })],
    });
    const patched = await leases.mergePatch('a', { spec: { holderIdentity: 'h' } }, { accept: table });
    expect(patched.json['rows']).toEqual([expect.objectContaining({ cells: ['a', 'h', anAge] })]);
  });

  test('is also used in watches, with the columns only once', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const watch = await leases.watch({ accept: table });
    await leases.mergePatch('a', { spec: { holderIdentity: 'h' } });
    await leases.delete('a');
    const event = (type: string, holder: string, columnDefinitions: unknown) => ({
      type,
      object: {
        kind: 'Table',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { resourceVersion: aRevision },
        columnDefinitions,
        rows: [
          {
            cells: ['a', holder, anAge],
            object: expect.objectContaining({
              kind: 'PartialObjectMetadata',
              metadata: expect.objectContaining({ name: 'a' }),
            }),
          },
        ],
      },
    });
    expect(await watch.next()).toEqual(event('ADDED', '', leaseColumns));
    expect(await watch.next()).toEqual(event('MODIFIED', 'h', null));
    expect(await watch.next()).toEqual(event('DELETED', 'h', null));
    watch.close();
  });

  test('shows the Lease and the versions of a LeaseCandidate', async ({ candidates, target }) => {
    const version = target.candidateVersions[0];
    const strategy = 'OldestEmulationVersion';
    await candidates.make({
      metadata: { name: 'a' },
      spec: {
        leaseName: 'l',
        binaryVersion: '1.0.0',
        emulationVersion: '1.0.0',
        ...(version === 'v1alpha1' ? { preferredStrategies: [strategy] } : { strategy }),
      },
    });
    const { json } = await candidates.list({ accept: table });
    expect({ columns: json['columnDefinitions'], rows: json['rows'] }).toEqual({
      columns: [
        column('Name', 'string', 'name'),
        column('LeaseName', 'string'),
        column('BinaryVersion', 'string'),
        column('EmulationVersion', 'string'),
        column('Age', 'string'),
      ],
      rows: [expect.objectContaining({ cells: ['a', 'l', '1.0.0', '1.0.0', anAge] })],
    });
  });
}
