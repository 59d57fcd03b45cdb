import { expect } from 'vitest';
import {
  badRequest,
  expectAnswer,
  invalidObject,
  lease,
  leaseKind,
  required,
  unreadableOptions,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';

const microTimeLayout = '2006-01-02T15:04:05.000000Z07:00';

export function describeDecoding({ test, minor }: Suite): void {
  const unrecognized = (problem: string) =>
    badRequest(`the object provided is unrecognized (must be of type Lease): ${problem}`);
  const wrongStruct =
    'into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
  const notJson: readonly (readonly [string, object])[] = [
    ['', unrecognized("couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)")],
    ['{', unrecognized("couldn't get version/kind; json parse error: unexpected end of JSON input ({)")],
    [
      '[]',
      unrecognized(
        `couldn't get version/kind; json parse error: json: cannot unmarshal array ${wrongStruct} (5b5d)`,
      ),
    ],
    [
      '"x"',
      unrecognized(
        `couldn't get version/kind; json parse error: json: cannot unmarshal string ${wrongStruct} (227822)`,
      ),
    ],
    [
      '{"metadata":{"name":"a"}} trailing',
      unrecognized(
        `couldn't get version/kind; json parse error: invalid character 't' after top-level value ({"metadata":{"name":"a"}} trai ...)`,
      ),
    ],
    [
      '{"kind":5,"metadata":{"name":"a"}}',
      unrecognized(
        `couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind of type string ({"kind":5,"metadata":{"name":" ...)`,
      ),
    ],
    [
      '{"kind":"Lease","apiVersion":"a/b/c","metadata":{"name":"a"}}',
      unrecognized('unexpected GroupVersion string: a/b/c ({"kind":"Lease","apiVersion":" ...)'),
    ],
  ];
  for (const [rawBody, body] of notJson) {
    test(`refuses the body ${JSON.stringify(rawBody)}`, async ({ leases, request }) => {
      expectAnswer(await request('POST', leases.path, { rawBody }), 400, body);
    });
  }

  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  test('reads a body that is nested a thousand levels deep', async ({ leases, request }) => {
    const rawBody = `{"metadata":{"name":"a"},"other":${nested(999)}}`;
    const answer = await request('POST', leases.path, { rawBody });
    expect({ code: answer.code, warnings: answer.warnings }).toEqual({
      code: 201,
      warnings: ['unknown field "other"'],
    });
  });

  for (const levels of [10_000, 12_000]) {
    test(`refuses a body that is nested ${levels + 1} levels deep`, async ({ leases, request }) => {
      const rawBody = `{"metadata":{"name":"a"},"other":${nested(levels)}}`;
      const problem = "invalid character '[' exceeded max depth";
      expectAnswer(
        await request('POST', leases.path, { rawBody }),
        400,
        unrecognized(
          `couldn't get version/kind; json parse error: ${problem} ({"metadata":{"name":"a"},"othe ...)`,
        ),
      );
      await leases.make({ metadata: { name: 'b' } });
      for (const [patch, refused] of [
        [leases.mergePatch, `error decoding patch: ${problem}`],
        [leases.jsonPatch, `error decoding patch: ${problem}`],
        [leases.strategicPatch, problem],
      ] as const) {
        const answer = await patch('b', undefined, { rawBody: `[${nested(levels)}]` });
        expectAnswer(answer, 400, badRequest(refused));
      }
      const unread = `couldn't get version/kind; json parse error: ${problem}`;
      expectAnswer(await leases.delete('b', undefined, { rawBody }), ...unreadableOptions(minor, unread));
    });
  }

  for (const rawBody of ['null', '{}', '{"metadata":null}']) {
    test(`takes the body ${rawBody} for an object without a name`, async ({ leases, request }) => {
      expectAnswer(
        await request('POST', leases.path, { rawBody }),
        422,
        invalidObject(leaseKind, '', [required('metadata.name', 'name or generateName is required')]),
      );
    });
  }

  const unregistered = (kind: string, groupVersion: string, version: string) =>
    badRequest(
      `${kind} in version "${version}" cannot be handled as a Lease: no kind "${kind}" is registered for version "${groupVersion}" in its scheme`,
    );
  const wrongKinds: readonly (readonly [string, string, object])[] = [
    ['Other', 'coordination.k8s.io/v1', unregistered('Other', 'coordination.k8s.io/v1', 'v1')],
    ['Lease', 'v1', unregistered('Lease', 'v1', 'v1')],
    ['Lease', 'coordination.k8s.io/v9', unregistered('Lease', 'coordination.k8s.io/v9', 'v9')],
    [
      'Namespace',
      'v1',
      badRequest(
        'Namespace in version "v1" cannot be handled as a Lease: converting (v1.Namespace) to (coordination.Lease): unknown conversion',
      ),
    ],
  ];
  for (const [kind, apiVersion, body] of wrongKinds) {
    test(`refuses a ${kind} of ${apiVersion} in place of a Lease`, async ({ leases }) => {
      expectAnswer(await leases.create({ kind, apiVersion, metadata: { name: 'a' } }), 400, body);
    });
  }

  const unreadable = (problem: string) =>
    badRequest(`Lease in version "v1" cannot be handled as a Lease: ${problem}`);
  const wrongType = (value: string, field: string, type: string) =>
    unreadable(`json: cannot unmarshal ${value} into Go struct field ${field} of type ${type}`);
  const duration = (text: string, shown: string) =>
    [
      `"spec":{"leaseDurationSeconds":${text}}`,
      wrongType(shown, 'LeaseSpec.spec.leaseDurationSeconds', 'int32'),
    ] as const;
  const renewed = (text: string, problem: string) =>
    [`"spec":{"renewTime":${text}}`, unreadable(problem)] as const;
  const unparsed = (text: string, rest: string, element: string) =>
    `parsing time "${text}" as "${microTimeLayout}": cannot parse "${rest}" as "${element}"`;
  const wrongFields: readonly (readonly [string, object])[] = [
    duration('"10"', 'string'),
    duration('1.5', 'number 1.5'),
    duration('10.0', 'number 10.0'),
    duration('1e1', 'number 1e1'),
    duration('3000000000', 'number 3000000000'),
    duration('99999999999999999999999', 'number 99999999999999999999999'),
    duration('true', 'bool'),
    ['"spec":{"holderIdentity":5}', wrongType('number', 'LeaseSpec.spec.holderIdentity', 'string')],
    ['"spec":{"holderIdentity":["a"]}', wrongType('array', 'LeaseSpec.spec.holderIdentity', 'string')],
    ['"spec":{"holderIdentity":{}}', wrongType('object', 'LeaseSpec.spec.holderIdentity', 'string')],
    ['"spec":[]', wrongType('array', 'Lease.spec', 'v1.LeaseSpec')],
    ['"spec":"x"', wrongType('string', 'Lease.spec', 'v1.LeaseSpec')],
    ['"metadata":[]', wrongType('array', 'Lease.metadata', 'v1.ObjectMeta')],
    ['"metadata":{"name":5}', wrongType('number', 'ObjectMeta.metadata.name', 'string')],
    ['"metadata":{"labels":[]}', wrongType('array', 'ObjectMeta.metadata.labels', 'map[string]string')],
    ['"metadata":{"labels":{"a":5}}', wrongType('number', 'ObjectMeta.metadata.labels', 'string')],
    ['"metadata":{"finalizers":"x"}', wrongType('string', 'ObjectMeta.metadata.finalizers', '[]string')],
    ['"metadata":{"finalizers":[5]}', wrongType('number', 'ObjectMeta.metadata.finalizers', 'string')],
    ['"metadata":{"generation":"5"}', wrongType('string', 'ObjectMeta.metadata.generation', 'int64')],
    [
      '"metadata":{"creationTimestamp":5}',
      wrongType('number', 'ObjectMeta.metadata.creationTimestamp', 'string'),
    ],
    [
      '"metadata":{"creationTimestamp":"x"}',
      unreadable('parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'),
    ],
    ['"spec":{"renewTime":5}', wrongType('number', 'LeaseSpec.spec.renewTime', 'string')],
    renewed('"2026-01-01T00:00:00Z"', unparsed('2026-01-01T00:00:00Z', 'Z', '.000000')),
    renewed('"2026-01-01T00:00:00.123Z"', unparsed('2026-01-01T00:00:00.123Z', '.123Z', '.000000')),
    renewed('"2026-01-01T00:00:00.1234567Z"', unparsed('2026-01-01T00:00:00.1234567Z', '7Z', 'Z07:00')),
    renewed('""', unparsed('', '', '2006')),
    renewed('"nonsense"', unparsed('nonsense', 'nonsense', '2006')),
    renewed(
      '"2026-13-01T00:00:00.123456Z"',
      'parsing time "2026-13-01T00:00:00.123456Z": month out of range',
    ),
  ];
  for (const [fields, body] of wrongFields) {
    test(`refuses {${fields}}`, async ({ leases, request }) => {
      const metadata = fields.startsWith('"metadata"') ? '' : '"metadata":{"name":"a"},';
      expectAnswer(await request('POST', leases.path, { rawBody: `{${metadata}${fields}}` }), 400, body);
    });
  }

  test('takes null for nothing', async ({ namespace, leases }) => {
    expectAnswer(
      await leases.create({
        metadata: { name: 'a', labels: null, generation: null },
        spec: { holderIdentity: null, leaseDurationSeconds: null, renewTime: null },
      }),
      201,
      lease(namespace, 'a'),
    );
    expectAnswer(await leases.create({ metadata: { name: 'b' }, spec: null }), 201, lease(namespace, 'b'));
  });

  test('takes null in a map for an empty text', async ({ namespace, leases }) => {
    const managedFields = [updated('conformance', { 'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } } })];
    expectAnswer(
      await leases.create({ metadata: { name: 'a', labels: { a: null } } }),
      201,
      lease(namespace, 'a', { metadata: { labels: { a: '' }, managedFields } }),
    );
  });

  test('shows times in UTC', async ({ leases }) => {
    const made = await leases.make({
      metadata: { name: 'a' },
      spec: { renewTime: '2026-01-01T00:00:00.123456+02:00' },
    });
    expect(made.spec).toEqual({ renewTime: '2025-12-31T22:00:00.123456Z' });
  });

  const sloppy =
    '{"metadata":{"name":"a","other":1},"spec":{"other":1,"holderIdentity":"x","holderIdentity":"y"},"other":1,"Spec":{}}';
  const problems = [
    'unknown field "metadata.other"',
    'unknown field "spec.other"',
    'duplicate field "spec.holderIdentity"',
    'unknown field "other"',
    'unknown field "Spec"',
  ];
  const holder = (namespace: string) =>
    lease(namespace, 'a', {
      metadata: { managedFields: [updated('conformance', { 'f:spec': { 'f:holderIdentity': {} } })] },
      spec: { holderIdentity: 'y' },
    });

  for (const query of [{}, { fieldValidation: 'Warn' }, { fieldValidation: '' }]) {
    test(`warns of unknown and duplicate fields with ${JSON.stringify(query)}`, async ({
      namespace,
      leases,
      request,
    }) => {
      const answer = await request('POST', leases.path, { rawBody: sloppy, query });
      expect(answer.warnings).toEqual(problems);
      expectAnswer(answer, 201, holder(namespace));
    });
  }

  test('says nothing of unknown and duplicate fields with fieldValidation=Ignore', async ({
    namespace,
    leases,
    request,
  }) => {
    const answer = await request('POST', leases.path, {
      rawBody: sloppy,
      query: { fieldValidation: 'Ignore' },
    });
    expect(answer.warnings).toEqual([]);
    expectAnswer(answer, 201, holder(namespace));
  });

  test('refuses unknown and duplicate fields with fieldValidation=Strict', async ({ leases, request }) => {
    const answer = await request('POST', leases.path, {
      rawBody: sloppy,
      query: { fieldValidation: 'Strict' },
    });
    expect(answer.warnings).toEqual([]);
    expectAnswer(answer, 400, unreadable(`strict decoding error: ${problems.join(', ')}`));
  });

  test('names duplicates in maps and unknown fields in lists', async ({ leases, request }) => {
    const rawBody =
      '{"metadata":{"name":"a","labels":{"k":"1","k":"2"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u","other":1,"uid":"w"}]}}';
    const answer = await request('POST', leases.path, { rawBody });
    expect(answer.warnings).toEqual([
      'duplicate field "metadata.labels.k"',
      'unknown field "metadata.ownerReferences[0].other"',
      'duplicate field "metadata.ownerReferences[0].uid"',
    ]);
    expect(answer.json.metadata.labels).toEqual({ k: '2' });
  });

  test('goes on with a struct that is given twice', async ({ leases, request }) => {
    const rawBody = '{"metadata":{"name":"a"},"spec":{"holderIdentity":"x"},"spec":{"leaseTransitions":1}}';
    const answer = await request('POST', leases.path, { rawBody });
    expect(answer.warnings).toEqual(['duplicate field "spec"']);
    expect(answer.json.spec).toEqual({ holderIdentity: 'x', leaseTransitions: 1 });
  });

  test('warns of wrong fields before it refuses the object', async ({ leases }) => {
    const answer = await leases.create({ metadata: { name: 'a' }, spec: { other: 1, leaseTransitions: -1 } });
    expect({ code: answer.code, warnings: answer.warnings }).toEqual({
      code: 422,
      warnings: ['unknown field "spec.other"'],
    });
  });

  test('names no more than a hundred fields that a patch has twice', async ({ leases, request }) => {
    const at = `${leases.path}/a`;
    await leases.make({ metadata: { name: 'a' } });
    const fields = Array.from({ length: 120 }, (_, index) => `"f${index}":1,"f${index}":1`);
    const rawBody = `{"metadata":{"labels":{"x":"y"}},${fields.join(',')}}`;
    const answer = await request('PATCH', at, { rawBody, contentType: 'application/merge-patch+json' });
    const duplicates = answer.warnings.filter((each) => each.startsWith('duplicate field'));
    expect(duplicates).toEqual(Array.from({ length: 100 }, (_, index) => `duplicate field "f${index}"`));
  });

  test('refuses a body above three mebibytes', async ({ leases }) => {
    const { code, json } = await leases.create({
      metadata: { name: 'a', annotations: { a: 'x'.repeat(3 * 1024 * 1024) } },
    });
    expect({ code, reason: json['reason'] }).toEqual({ code: 413, reason: 'RequestEntityTooLarge' });
  });
}
