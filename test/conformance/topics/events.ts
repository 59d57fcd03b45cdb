import { expect } from 'vitest';
import {
  anUid,
  aRevision,
  aTime,
  badRequest,
  type Cause,
  deletedStatus,
  expectAnswer,
  invalid,
  invalidObject,
  required,
  type Subject,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { type Collection, collectionOf, mediaTypes, type Workspace } from '../workspace.ts';

const eventKind: Subject = { group: '', kind: 'Event' };
const events: Subject = { group: '', kind: 'events' };
const time = '2026-01-01T00:00:00.000000Z';

const coreEvents = ({ target, namespace }: Workspace): Collection =>
  collectionOf(target, namespace, { apiVersion: 'v1', kind: 'Event', resource: 'events' });

const about = (namespace: string) => ({
  kind: 'Lease',
  namespace,
  name: 'l',
  apiVersion: 'coordination.k8s.io/v1',
});
const coreEvent = (namespace: string, more: object = {}) => ({
  metadata: { name: 'a' },
  involvedObject: about(namespace),
  reason: 'Elected',
  message: 'm',
  type: 'Normal',
  ...more,
});
const someMetadata = (namespace: string) => ({
  name: 'a',
  namespace,
  uid: anUid,
  resourceVersion: aRevision,
  creationTimestamp: aTime,
  managedFields: expect.any(Array),
});

export function describeEvents({ test }: Suite): void {
  test('return all their fields', async (workspace) => {
    const { namespace } = workspace;
    const body = {
      kind: 'Event',
      apiVersion: 'v1',
      ...coreEvent(namespace),
      metadata: someMetadata(namespace),
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: '',
      reportingInstance: '',
    };
    expectAnswer(await coreEvents(workspace).create(coreEvent(namespace)), 201, body);
    expectAnswer(await coreEvents(workspace).get('a'), 200, body);
  });

  const elsewhere = invalid('involvedObject.namespace');
  const noController = (field: string): readonly Cause[] => [required(field), invalid(field), invalid(field)];
  const wrongCore: readonly (readonly [string, object, readonly Cause[]])[] = [
    ['about another namespace', { involvedObject: { ...about('other') } }, [elsewhere]],
    ['about no namespace', { involvedObject: { kind: 'Lease', name: 'l' } }, [elsewhere]],
    [
      'with an eventTime alone',
      { eventTime: time },
      [...noController('reportingComponent'), required('reportingInstance'), required('action')],
    ],
  ];
  for (const [what, more, causes] of wrongCore) {
    test(`are refused ${what}`, async (workspace) => {
      expectAnswer(
        await coreEvents(workspace).create(coreEvent(workspace.namespace, more)),
        422,
        invalidObject(eventKind, 'a', causes),
      );
    });
  }

  test('become a series', async (workspace) => {
    await coreEvents(workspace).make(coreEvent(workspace.namespace));
    const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
    for (const patch of [coreEvents(workspace).mergePatch, coreEvents(workspace).strategicPatch]) {
      const { code, json } = await patch('a', { series });
      expect({ code, series: json['series'] }).toEqual({ code: 200, series });
    }
  });

  test('are counted', async (workspace) => {
    const { namespace } = workspace;
    const seen = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z', count: 1 };
    await coreEvents(workspace).make(coreEvent(namespace, seen));
    const again = { count: 2, lastTimestamp: '2026-01-01T00:00:05Z', message: 'again' };
    const { code, json } = await coreEvents(workspace).strategicPatch('a', again);
    expect(code).toBe(200);
    expect(json).toMatchObject({ ...coreEvent(namespace), ...seen, ...again, metadata: { name: 'a' } });
  });

  test('are selected by their subject', async (workspace) => {
    const { namespace } = workspace;
    await coreEvents(workspace).make(coreEvent(namespace, { source: { component: 'c' } }));
    const names = async (fieldSelector: string) =>
      (await coreEvents(workspace).list({ query: { fieldSelector } })).json.items.map(
        ({ metadata }) => metadata.name,
      );
    for (const selector of [
      'metadata.name=a',
      `metadata.namespace=${namespace}`,
      'involvedObject.kind=Lease',
      'involvedObject.name=l',
      `involvedObject.namespace=${namespace}`,
      'involvedObject.uid=',
      'involvedObject.apiVersion=coordination.k8s.io/v1',
      'involvedObject.resourceVersion=',
      'involvedObject.fieldPath=',
      'reason=Elected',
      'reportingComponent=',
      'source=c',
      'type=Normal',
    ]) {
      expect([selector, await names(selector)]).toEqual([selector, ['a']]);
    }
    expect(await names('involvedObject.name=other')).toEqual([]);
    expectAnswer(
      await coreEvents(workspace).list({ query: { fieldSelector: 'message=m' } }),
      400,
      badRequest(),
    );
  });

  test('are shown as a table', async (workspace) => {
    const seen = { firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-01T00:00:00Z', count: 1 };
    await coreEvents(workspace).make(coreEvent(workspace.namespace, seen));
    const { json } = await coreEvents(workspace).get('a', { accept: `${mediaTypes.table},application/json` });
    const columns = json['columnDefinitions'] as readonly {
      readonly name: string;
      readonly priority: number;
    }[];
    expect(columns.filter(({ priority }) => priority === 0).map(({ name }) => name)).toEqual([
      'Last Seen',
      'Type',
      'Reason',
      'Object',
      'Message',
    ]);
    expect(columns.filter(({ priority }) => priority === 1).map(({ name }) => name)).toEqual([
      'Subobject',
      'Source',
      'First Seen',
      'Count',
      'Name',
    ]);
    const [row] = json['rows'] as readonly { readonly cells: readonly unknown[] }[];
    const cells = Object.fromEntries(columns.map(({ name }, index) => [name, row?.cells[index]]));
    expect(cells).toMatchObject({
      Type: 'Normal',
      Reason: 'Elected',
      Object: 'lease/l',
      Message: 'm',
      Count: 1,
      Name: 'a',
    });
  });

  test('are deleted', async (workspace) => {
    const { metadata } = await coreEvents(workspace).make(coreEvent(workspace.namespace));
    expectAnswer(await coreEvents(workspace).delete('a'), 200, deletedStatus(events, 'a', metadata.uid));
    await coreEvents(workspace).make(coreEvent(workspace.namespace));
    expect((await coreEvents(workspace).deleteAll()).code).toBe(200);
    expect((await coreEvents(workspace).list()).json.items).toEqual([]);
  });

  test('are listed in pages from any resourceVersion, because they are not cached', async (workspace) => {
    const list = coreEvents(workspace);
    for (const name of ['a', 'b', 'c'])
      await list.make(coreEvent(workspace.namespace, { metadata: { name } }));
    const query = { resourceVersion: '0', limit: 2 };
    const { json } = await list.list({ query });
    expect(json.items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(json.metadata).toMatchObject({ continue: expect.any(String), remainingItemCount: 1 });
    const rest = await coreEvents(workspace).list({
      query: { ...query, continue: json.metadata.continue ?? '' },
    });
    expect(rest.json.items.map(({ metadata }) => metadata.name)).toEqual(['c']);
  });
}
