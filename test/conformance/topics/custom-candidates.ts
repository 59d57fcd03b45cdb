import { expect } from 'vitest';
import { GROUP } from '../../../src/election/model.ts';
import {
  alreadyExists,
  anUid,
  applied,
  applyConflict,
  aRevision,
  aTime,
  badRequest,
  type Cause,
  conflict,
  deletedStatus,
  expectAnswer,
  failure,
  invalid,
  invalidObject,
  notFound,
  required,
  type Subject,
  tooLong,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';
import { collectionOf, mediaTypes, type Workspace } from '../workspace.ts';
import { withoutStorageHash } from './discovery.ts';

const apiVersion = `${GROUP}/v1alpha1`;
const candidates: Subject = { group: GROUP, kind: 'leasecandidates' };
const candidateKind: Subject = { group: GROUP, kind: 'LeaseCandidate' };
const type = { apiVersion, kind: 'LeaseCandidate' };
const defaults = { binaryVersion: '0.0.0', strategy: 'OldestEmulationVersion' };
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const verbs = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

/** An additional cause if a problem prevents the server from checking rules. */
const notChecked: Cause = ['<nil>', 'FieldValueInvalid'];
const wrongType = (field: string): Cause => [field, 'FieldValueTypeInvalid'];

function candidate(name: string, spec: unknown = { leaseName: 'web' }) {
  return { ...type, metadata: { name }, spec };
}

/** LeaseCandidates of this project's group, which are custom resources; no tests if they are not served. */
export function describeCustomCandidates({ test: testIn, hasCustomCandidates }: Suite): void {
  if (!hasCustomCandidates) {
    testIn('are not served', async ({ request }) => {
      expect((await request('GET', `/apis/${apiVersion}`)).code).toBe(404);
    });
    return;
  }
  const test = (
    name: string,
    body: (own: ReturnType<typeof collectionOf>, all: Workspace) => Promise<void>,
  ) =>
    testIn(name, (workspace) =>
      body(
        collectionOf(workspace.target, workspace.namespace, { ...type, resource: 'leasecandidates' }),
        workspace,
      ),
    );

  test('are found by discovery, with short name and category', async (_, { request }) => {
    const served = { groupVersion: apiVersion, version: 'v1alpha1' };
    expectAnswer(await request('GET', `/apis/${GROUP}`), 200, {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: GROUP,
      versions: [served],
      preferredVersion: served,
    });
    const names = { shortNames: ['lcand'], categories: ['leader-election'] };
    expectAnswer(withoutStorageHash(await request('GET', `/apis/${apiVersion}`)), 200, {
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: apiVersion,
      resources: [
        {
          name: 'leasecandidates',
          singularName: 'leasecandidate',
          namespaced: true,
          kind: 'LeaseCandidate',
          verbs,
          ...names,
        },
      ],
    });
    const all = await request('GET', '/apis', { accept: aggregated });
    expect(all.json.items.find(({ metadata }) => metadata.name === GROUP)?.['versions']).toEqual([
      {
        version: 'v1alpha1',
        resources: [
          {
            resource: 'leasecandidates',
            responseKind: { group: GROUP, version: 'v1alpha1', kind: 'LeaseCandidate' },
            scope: 'Namespaced',
            singularResource: 'leasecandidate',
            verbs,
            ...names,
          },
        ],
        freshness: 'Current',
      },
    ]);
  });

  test('have defaults and a generation, and contain their kind in lists', async (own, { namespace }) => {
    const fields = { '.': {}, 'f:binaryVersion': {}, 'f:leaseName': {}, 'f:strategy': {} };
    const body = {
      ...type,
      metadata: {
        name: 'a',
        namespace,
        uid: anUid,
        resourceVersion: aRevision,
        generation: 1,
        creationTimestamp: aTime,
        managedFields: [updated('conformance', { 'f:spec': fields }, apiVersion)],
      },
      spec: { leaseName: 'web', ...defaults },
    };
    const given = { ...candidate('a', { leaseName: 'web', renewTime: null }) };
    expectAnswer(await own.create({ ...given, metadata: { name: 'a', generation: 7 } }), 201, body);
    expectAnswer(await own.get('a'), 200, body);
    expectAnswer(await own.create(given), 409, alreadyExists(candidates, 'a'));
    expectAnswer(await own.list(), 200, {
      apiVersion,
      kind: 'LeaseCandidateList',
      metadata: { continue: '', resourceVersion: aRevision },
      items: [body],
    });
  });

  test('count only changes of their spec', async (own) => {
    await own.make(candidate('a'));
    const generations: unknown[] = [];
    for (const patch of [
      { spec: { priority: 1 } },
      { spec: { priority: 1 } },
      { metadata: { labels: { a: 'b' }, generation: 9 } },
      { spec: { priority: null } },
    ]) {
      const { json } = await own.mergePatch('a', patch);
      generations.push(json.metadata['generation']);
    }
    expect(generations).toEqual([2, 2, 2, 3]);
  });

  const wrong: readonly (readonly [string, unknown, readonly Cause[]])[] = [
    ['no spec', undefined, [required('spec'), notChecked]],
    ['a spec of null', null, [required('spec'), notChecked]],
    ['a spec that is a text', 'x', [wrongType('spec'), notChecked]],
    ['no leaseName', { binaryVersion: 'x' }, [required('spec.leaseName'), notChecked]],
    ['a leaseName that is a number', { leaseName: 1 }, [wrongType('spec.leaseName'), notChecked]],
    ['a leaseName that is a list', { leaseName: [] }, [wrongType('spec.leaseName'), notChecked]],
    ['a leaseName that is too long', { leaseName: 'x'.repeat(254) }, [tooLong('spec.leaseName'), notChecked]],
    [
      'a priority that is a text',
      { leaseName: 'web', priority: '1' },
      [wrongType('spec.priority'), notChecked],
    ],
    [
      'a priority that is too high',
      { leaseName: 'web', priority: 2 ** 31 },
      [['<nil>', 'FieldValueInvalid'], invalid('spec.priority')],
    ],
    ['a strategy that nobody knows', { leaseName: 'web', strategy: 'Other' }, [invalid('spec.strategy')]],
    [
      'an emulationVersion above the binaryVersion',
      { leaseName: 'web', emulationVersion: '1.0.0' },
      [invalid('spec.emulationVersion')],
    ],
  ];
  for (const [what, spec, causes] of wrong) {
    test(`are refused with ${what}`, async (own) => {
      expectAnswer(
        await own.create({ ...candidate('a'), spec }),
        422,
        invalidObject(candidateKind, 'a', causes),
      );
    });
  }

  test('must contain their kind and version', async (own) => {
    expectAnswer(await own.create({ metadata: { name: 'a' }, spec: {} }), 400, badRequest());
    expectAnswer(
      await own.create({ ...candidate('a'), kind: 'Lease' }),
      422,
      invalidObject({ group: GROUP, kind: 'Lease' }, 'a', [invalid('kind')]),
    );
  });

  test('lose unknown fields, with a warning or a refusal', async (own) => {
    const body = { ...candidate('a', { leaseName: 'web', other: 1 }), status: {} };
    const metadata = { name: 'a', more: 1 };
    const unknown = ['metadata.more', 'spec.other', 'status'].map((path) => `unknown field "${path}"`);
    for (const [fieldValidation, warnings] of [
      ['', unknown],
      ['Warn', unknown],
      ['Ignore', []],
    ] as const) {
      const query = { dryRun: 'All', ...(fieldValidation !== '' && { fieldValidation }) };
      const answer = await own.create({ ...body, metadata }, { query });
      expect([answer.code, answer.warnings]).toEqual([201, warnings]);
      expect(answer.json.spec).toEqual({ leaseName: 'web', ...defaults });
    }
    expectAnswer(
      await own.create({ ...body, metadata }, { query: { fieldValidation: 'Strict' } }),
      400,
      badRequest(),
    );
  });

  test('are replaced, but not created, by PUT, and never for another Lease', async (own) => {
    expectAnswer(await own.replace('a', candidate('a')), 404, notFound(candidates, 'a'));
    const made = await own.make(candidate('a'));
    const changed = { ...made, spec: { ...made.spec, leaseName: 'other' } };
    expectAnswer(
      await own.replace('a', changed),
      422,
      invalidObject(candidateKind, 'a', [invalid('spec.leaseName')]),
    );
    const { json } = await own.replace('a', { ...made, spec: { leaseName: 'web', priority: 2 } });
    expect(json.spec).toEqual({ leaseName: 'web', priority: 2, ...defaults });
    expectAnswer(await own.replace('a', made), 409, conflict(candidates, 'a'));
  });

  test('are changed by every kind of patch except the strategic merge patch', async (own) => {
    await own.make(candidate('a'));
    const added = await own.jsonPatch('a', [{ op: 'add', path: '/spec/priority', value: 3 }]);
    expect(added.json.spec).toEqual({ leaseName: 'web', priority: 3, ...defaults });
    const merged = await own.mergePatch('a', { spec: { priority: null, strategy: null } });
    expect(merged.json.spec).toEqual({ leaseName: 'web', ...defaults });
    const refusal = failure(415, 'UnsupportedMediaType');
    expectAnswer(await own.strategicPatch('a', { spec: { priority: 1 } }), 415, refusal);
    expectAnswer(
      await own.mergePatch('a', { spec: { leaseName: null } }),
      422,
      invalidObject(candidateKind, 'a', [required('spec.leaseName'), notChecked]),
    );
  });

  test('are applied, field by field', async (own) => {
    const config = { metadata: { name: 'a' }, spec: { leaseName: 'web', priority: 1 } };
    const { code, json } = await own.apply('a', 'first', config);
    expect([code, json.spec]).toEqual([201, { ...config.spec, ...defaults }]);
    expect(json.metadata.managedFields).toEqual([
      applied('first', { 'f:spec': { 'f:leaseName': {}, 'f:priority': {} } }, apiVersion),
    ]);
    const other = { ...config, spec: { priority: 2 } };
    expectAnswer(await own.apply('a', 'second', other), 409, applyConflict(['.spec.priority']));
    const unknown = { ...config, spec: { other: 1 } };
    expectAnswer(await own.apply('a', 'second', unknown), 500, failure(500, ''));
    expectAnswer(
      await own.apply('a', 'first', { ...config, spec: { ...config.spec, renewTime: null } }),
      422,
      invalidObject(candidateKind, 'a', [wrongType('spec.renewTime'), notChecked]),
    );
  });

  test('are shown as rows with their deciding fields', async (own) => {
    await own.make(candidate('a'));
    await own.make(
      candidate('b', { leaseName: 'db', binaryVersion: '2.0.0', emulationVersion: '1.0.0', priority: -1 }),
    );
    const column = (name: string, shown: string, format = '') => ({
      ...{ name, type: shown, format, priority: 0 },
      description: expect.any(String),
    });
    const { json } = await own.list({ accept: mediaTypes.table });
    expect(json['columnDefinitions']).toEqual([
      column('Name', 'string', 'name'),
      column('LeaseName', 'string'),
      column('BinaryVersion', 'string'),
      column('EmulationVersion', 'string'),
      column('Priority', 'integer'),
      column('Age', 'date'),
    ]);
    const cells = (json['rows'] as readonly { readonly cells: unknown }[]).map((row) => row.cells);
    expect(cells).toEqual([
      ['a', 'web', '0.0.0', null, null, expect.stringMatching(/^\d+s$/)],
      ['b', 'db', '2.0.0', '1.0.0', -1, expect.stringMatching(/^\d+s$/)],
    ]);
  });

  test('are selected and watched by their Lease', async (own) => {
    const query = { fieldSelector: 'spec.leaseName=web' };
    const watch = await own.watch({ query: { ...query, resourceVersion: await own.revision() } });
    const [web] = [
      await own.make(candidate('web-0')),
      await own.make(candidate('db-0', { leaseName: 'db' })),
    ];
    const changed = await own.mergePatch('web-0', { spec: { priority: 1 } });
    const listed = await own.list({ query });
    expect(listed.json.items).toEqual([changed.json]);
    expectAnswer(await own.delete('web-0'), 200, deletedStatus(candidates, 'web-0', web.metadata.uid));
    expect(await watch.next()).toEqual({ type: 'ADDED', object: web });
    expect(await watch.next()).toEqual({ type: 'MODIFIED', object: changed.json });
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'web-0' } } });
    watch.close();
    expectAnswer(await own.list({ query: { fieldSelector: 'spec.priority=1' } }), 400, badRequest());
  });

  test('are deleted by options in protobuf, as typed clients send them', async (own) => {
    const made = await own.make(candidate('a'));
    const rawBody = Buffer.from('6b3873000a130a027631120d44656c6574654f7074696f6e73120208001a002200', 'hex');
    const contentType = 'application/vnd.kubernetes.protobuf';
    const answer = await own.delete('a', undefined, { rawBody, contentType });
    expectAnswer(answer, 200, deletedStatus(candidates, 'a', made.metadata.uid));
  });

  test('are described in OpenAPI, without the paths of outdated watches', async (_, { request }) => {
    const { json } = await request('GET', `/openapi/v3/apis/${apiVersion}`);
    const { paths, components } = json as unknown as {
      readonly paths: Readonly<Record<string, unknown>>;
      readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
    };
    const all = `/apis/${apiVersion}/namespaces/{namespace}/leasecandidates`;
    expect(Object.keys(paths).sort()).toEqual([`/apis/${apiVersion}/leasecandidates`, all, `${all}/{name}`]);
    expect(components.schemas[`dev.coordinated-leader-election.v1alpha1.LeaseCandidate`]).toMatchObject({
      required: ['spec'],
      properties: {
        spec: {
          required: ['leaseName'],
          properties: {
            leaseName: { type: 'string', maxLength: 253, description: expect.stringMatching(/\S/) },
            binaryVersion: { type: 'string', default: '0.0.0', maxLength: 128 },
            emulationVersion: { type: 'string', maxLength: 128 },
            priority: { type: 'integer', format: 'int32' },
            strategy: { type: 'string', default: 'OldestEmulationVersion', maxLength: 317 },
            renewTime: { type: 'string', maxLength: 32 },
            pingTime: { type: 'string', maxLength: 32 },
          },
        },
      },
      'x-kubernetes-group-version-kind': [{ group: GROUP, kind: 'LeaseCandidate', version: 'v1alpha1' }],
    });
  });
}
