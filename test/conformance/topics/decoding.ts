import { expect } from 'vitest';
import {
  badRequest,
  expectAnswer,
  failure,
  invalidObject,
  lease,
  leaseKind,
  required,
  unreadableOptions,
  updated,
} from '../expected.ts';
import type { Suite } from '../suite.ts';

export function describeDecoding({ test, minor }: Suite): void {
  const unrecognized = badRequest();

  const notJson: readonly (readonly [string, object])[] = [
    ['', unrecognized],
    ['{', unrecognized],
    ['[]', unrecognized],
    ['"x"', unrecognized],
    ['{"metadata":{"name":"a"}} trailing', unrecognized],
    ['{"kind":5,"metadata":{"name":"a"}}', unrecognized],
    ['{"kind":"Lease","apiVersion":"a/b/c","metadata":{"name":"a"}}', unrecognized],
  ];
  for (const [rawBody, body] of notJson) {
    test(`refuses the body ${JSON.stringify(rawBody)}`, async ({ leases, request }) => {
      expectAnswer(await request('POST', leases.path, { rawBody }), 400, body);
    });
  }

  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  test('reads a body with a thousand levels', async ({ leases, request }) => {
    const rawBody = `{"metadata":{"name":"a"},"other":${nested(999)}}`;
    const answer = await request('POST', leases.path, { rawBody });
    expect({ code: answer.code, warnings: answer.warnings }).toEqual({
      code: 201,
      warnings: ['unknown field "other"'],
    });
  });

  for (const levels of [10_000, 12_000]) {
    test(`refuses a body with ${levels + 1} levels`, async ({ leases, request }) => {
      const rawBody = `{"metadata":{"name":"a"},"other":${nested(levels)}}`;

      expectAnswer(await request('POST', leases.path, { rawBody }), 400, unrecognized);
      await leases.make({ metadata: { name: 'b' } });
      for (const patch of [leases.mergePatch, leases.jsonPatch, leases.strategicPatch] as const) {
        const answer = await patch('b', undefined, { rawBody: `[${nested(levels)}]` });
        expectAnswer(answer, 400, badRequest());
      }

      expectAnswer(await leases.delete('b', undefined, { rawBody }), ...unreadableOptions(minor));
    });
  }

  for (const rawBody of ['null', '{}', '{"metadata":null}']) {
    test(`reads the body ${rawBody} as an object without a name`, async ({ leases, request }) => {
      expectAnswer(
        await request('POST', leases.path, { rawBody }),
        422,
        invalidObject(leaseKind, '', [required('metadata.name')]),
      );
    });
  }

  const unregistered = badRequest();
  const wrongKinds: readonly (readonly [string, string, object])[] = [
    ['Other', 'coordination.k8s.io/v1', unregistered],
    ['Lease', 'v1', unregistered],
    ['Lease', 'coordination.k8s.io/v9', unregistered],
    ['Namespace', 'v1', badRequest()],
  ];
  for (const [kind, apiVersion, body] of wrongKinds) {
    test(`refuses a ${kind} of ${apiVersion} in place of a Lease`, async ({ leases }) => {
      expectAnswer(await leases.create({ kind, apiVersion, metadata: { name: 'a' } }), 400, body);
    });
  }

  const unreadable = badRequest();
  const wrongType = unreadable;
  const duration = (text: string) => [`"spec":{"leaseDurationSeconds":${text}}`, wrongType] as const;
  const renewed = (text: string) => [`"spec":{"renewTime":${text}}`, unreadable] as const;

  const wrongFields: readonly (readonly [string, object])[] = [
    duration('"10"'),
    duration('1.5'),
    duration('3000000000'),
    duration('99999999999999999999999'),
    duration('true'),
    ['"spec":{"holderIdentity":5}', wrongType],
    ['"spec":{"holderIdentity":["a"]}', wrongType],
    ['"spec":{"holderIdentity":{}}', wrongType],
    ['"spec":[]', wrongType],
    ['"spec":"x"', wrongType],
    ['"metadata":[]', wrongType],
    ['"metadata":{"name":5}', wrongType],
    ['"metadata":{"labels":[]}', wrongType],
    ['"metadata":{"labels":{"a":5}}', wrongType],
    ['"metadata":{"finalizers":"x"}', wrongType],
    ['"metadata":{"finalizers":[5]}', wrongType],
    ['"metadata":{"generation":"5"}', wrongType],
    ['"metadata":{"creationTimestamp":5}', wrongType],
    ['"metadata":{"creationTimestamp":"x"}', unreadable],
    ['"spec":{"renewTime":5}', wrongType],
    renewed('"2026-01-01T00:00:00Z"'),
    renewed('"2026-01-01T00:00:00.123Z"'),
    renewed('"2026-01-01T00:00:00.1234567Z"'),
    renewed('""'),
    renewed('"nonsense"'),
    renewed('"2026-13-01T00:00:00.123456Z"'),
  ];
  for (const [fields, body] of wrongFields) {
    test(`refuses {${fields}}`, async ({ leases, request }) => {
      const metadata = fields.startsWith('"metadata"') ? '' : '"metadata":{"name":"a"},';
      expectAnswer(await request('POST', leases.path, { rawBody: `{${metadata}${fields}}` }), 400, body);
    });
  }

  test('reads null as unset', async ({ namespace, leases }) => {
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

  test('reads null in a map as an empty text', async ({ namespace, leases }) => {
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
      expect(answer.warnings.toSorted()).toEqual(problems.toSorted());
      expectAnswer(answer, 201, holder(namespace));
    });
  }

  test('does not report unknown and duplicate fields with fieldValidation=Ignore', async ({
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
    expectAnswer(answer, 400, unreadable);
  });

  test('names duplicates in maps and unknown fields in lists', async ({ leases, request }) => {
    const rawBody =
      '{"metadata":{"name":"a","labels":{"k":"1","k":"2"},"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"u","other":1,"uid":"w"}]}}';
    const answer = await request('POST', leases.path, { rawBody });
    expect(answer.warnings.toSorted()).toEqual([
      'duplicate field "metadata.labels.k"',
      'duplicate field "metadata.ownerReferences[0].uid"',
      'unknown field "metadata.ownerReferences[0].other"',
    ]);
    expect(answer.json.metadata.labels).toEqual({ k: '2' });
  });

  test('warns of wrong fields before it refuses the object', async ({ leases }) => {
    const answer = await leases.create({ metadata: { name: 'a' }, spec: { other: 1, leaseTransitions: -1 } });
    expect({ code: answer.code, warnings: answer.warnings }).toEqual({
      code: 422,
      warnings: ['unknown field "spec.other"'],
    });
  });

  test('names at most a hundred duplicate fields of a patch', async ({ leases, request }) => {
    const at = `${leases.path}/a`;
    await leases.make({ metadata: { name: 'a' } });
    const fields = Array.from({ length: 120 }, (_, index) => `"f${index}":1,"f${index}":1`);
    const rawBody = `{"metadata":{"labels":{"x":"y"}},${fields.join(',')}}`;
    const answer = await request('PATCH', at, { rawBody, contentType: 'application/merge-patch+json' });
    const duplicates = answer.warnings.filter((each) => each.startsWith('duplicate field'));
    expect(duplicates).toEqual(Array.from({ length: 100 }, (_, index) => `duplicate field "f${index}"`));
  });

  test('refuses a body above three mebibytes', async ({ leases }) => {
    expectAnswer(
      await leases.create({ metadata: { name: 'a', annotations: { a: 'x'.repeat(3 * 1024 * 1024) } } }),
      413,
      failure(413, 'RequestEntityTooLarge'),
    );
  });
}
