import { expect } from 'vitest';
import { expectAnswer, failure, lease, leases as leaseResource, notFound, updated } from '../expected.ts';
import type { Suite } from '../suite.ts';
import { mediaTypes } from '../workspace.ts';

const object = { metadata: { name: 'a' } };
const yaml =
  'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata:\n  name: a\nspec:\n  leaseTransitions: 3\n';

export function describeNegotiation({ test }: Suite): void {
  const unknownFormat = failure(415, 'UnsupportedMediaType');

  for (const contentType of ['', 'application/json; charset=utf-8', 'Application/JSON']) {
    test(`accepts JSON with the content type ${JSON.stringify(contentType)}`, async ({
      namespace,
      leases,
    }) => {
      expectAnswer(await leases.create(object, { contentType }), 201, lease(namespace, 'a'));
    });
  }

  test('accepts YAML', async ({ namespace, leases, request }) => {
    const asked = { contentType: 'application/yaml', rawBody: yaml };
    const managedFields = [updated('conformance', { 'f:spec': { 'f:leaseTransitions': {} } })];
    expectAnswer(
      await request('POST', leases.path, asked),
      201,
      lease(namespace, 'a', { metadata: { managedFields }, spec: { leaseTransitions: 3 } }),
    );
  });

  test('warns of duplicate and unknown fields in YAML', async ({ leases, request }) => {
    const rawBody = 'metadata:\n  name: a\n  name: b\nother: 1\n';
    const answer = await request('POST', leases.path, { contentType: 'application/yaml', rawBody });
    expect(answer.warnings).toEqual(['line 3: key "name" already set in map', 'unknown field "other"']);
    expect(answer.json.metadata.name).toBe('b');
  });

  test('refuses invalid YAML', async ({ leases, request }) => {
    const asked = { contentType: 'application/yaml', rawBody: 'metadata: [' };
    expectAnswer(await request('POST', leases.path, asked), 400, failure(400, 'BadRequest'));
  });

  for (const contentType of ['text/plain', mediaTypes.mergePatch]) {
    test(`refuses bodies of the content type ${contentType}`, async ({ leases }) => {
      expectAnswer(await leases.create(object, { contentType }), 415, unknownFormat);
      await leases.make(object);
      expectAnswer(await leases.replace('a', object, { contentType }), 415, unknownFormat);
      expectAnswer(await leases.delete('a', {}, { contentType }), 415, unknownFormat);
    });
  }

  for (const contentType of ['', 'application/json', 'application/yaml', 'text/plain']) {
    test(`refuses patches of the content type ${JSON.stringify(contentType)}`, async ({ leases }) => {
      await leases.make(object);
      expectAnswer(
        await leases.mergePatch('a', {}, { contentType }),
        415,
        failure(415, 'UnsupportedMediaType', {}),
      );
    });
  }

  for (const accept of ['', '*/*', 'text/html, application/json', 'application/json;q=0.1']) {
    test(`answers in JSON if the client accepts ${JSON.stringify(accept)}`, async ({ namespace, leases }) => {
      const answer = await leases.create(object, { accept });
      expectAnswer(answer, 201, lease(namespace, 'a'));
      expect(answer.headers['content-type']).toBe('application/json');
    });
  }

  test('accepts protobuf', async ({ namespace, leases }) => {
    const message = (...fields: readonly (readonly [number, string | Buffer])[]) =>
      Buffer.concat(
        fields.map(([number, value]) => {
          const content = Buffer.from(value);
          return Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content]);
        }),
      );
    const renewTime = Buffer.from([8, 1, 16, 0xe8, 7]);
    const spec = Buffer.concat([message([1, 'h']), Buffer.from([16, 10]), message([4, renewTime])]);
    const type = message([1, 'coordination.k8s.io/v1'], [2, 'Lease']);
    const written = message([1, message([1, 'a'])], [2, spec]);
    const rawBody = Buffer.concat([Buffer.from('k8s\0'), message([1, type], [2, written])]);
    const contentType = 'application/vnd.kubernetes.protobuf';
    const fields = { 'f:holderIdentity': {}, 'f:leaseDurationSeconds': {}, 'f:renewTime': {} };
    expectAnswer(
      await leases.create(undefined, { rawBody, contentType }),
      201,
      lease(namespace, 'a', {
        metadata: { managedFields: [updated('conformance', { 'f:spec': fields })] },
        spec: {
          holderIdentity: 'h',
          leaseDurationSeconds: 10,
          renewTime: '1970-01-01T00:00:01.000001Z',
        },
      }),
    );
    const refused = await leases.create(undefined, { rawBody: 'k8s\0garbage', contentType });
    expect({ code: refused.code, reason: refused.json['reason'] }).toEqual({
      code: 400,
      reason: 'BadRequest',
    });
  });

  test('answers in YAML', async ({ leases }) => {
    const made = await leases.make(object);
    const { code, headers, text } = await leases.get('a', { accept: 'application/yaml' });
    expect({ code, text, type: headers['content-type'] }).toEqual({
      code: 200,
      type: 'application/yaml',
      text: `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  creationTimestamp: "${made.metadata.creationTimestamp}"
  name: a
  namespace: ${made.metadata.namespace}
  resourceVersion: "${made.metadata.resourceVersion}"
  uid: ${made.metadata.uid}
spec: {}
`,
    });
  });

  for (const accept of ['text/html', 'application/cbor', 'application/*', 'text/html,application/*;q=0.5']) {
    test(`cannot answer a client that only accepts ${accept}`, async ({ leases }) => {
      await leases.make(object);
      expectAnswer(await leases.get('a', { accept }), 406, failure(406, 'NotAcceptable', {}));
    });
  }

  for (const accept of [
    'application/json;as=Other;v=v1;g=meta.k8s.io',
    'application/json;as=Table;v=v2;g=meta.k8s.io',
    'application/json;as=Table;v=v1;g=other',
  ]) {
    test(`cannot answer a client that only accepts ${accept}`, async ({ leases }) => {
      await leases.make(object);
      expectAnswer(await leases.get('a', { accept }), 406, failure(406, 'NotAcceptable'));
    });
  }

  test('returns metadata alone', async ({ leases }) => {
    const made = await leases.make({ ...object, spec: { holderIdentity: 'h' } });
    const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: made.metadata };
    expectAnswer(await leases.get('a', { accept: mediaTypes.metadata }), 200, partial);
    expectAnswer(await leases.list({ accept: mediaTypes.metadataList }), 200, {
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: expect.stringMatching(/^\d+$/) },
      items: [partial],
    });
    const created = await leases.create({ metadata: { name: 'b' } }, { accept: mediaTypes.metadata });
    expect({ code: created.code, kind: created.json['kind'], name: created.json.metadata.name }).toEqual({
      code: 201,
      kind: 'PartialObjectMetadata',
      name: 'b',
    });
  });

  const isPretty = (text: string) => text.startsWith('{\n  "kind": ');

  test('indents its answer on request, or for browsers and curl', async ({ leases }) => {
    await leases.make(object);
    for (const asked of [
      { query: { pretty: 'true' } },
      { query: { pretty: '1' } },
      { userAgent: 'curl/8' },
      { userAgent: 'Wget/1' },
      { userAgent: 'Mozilla/5.0' },
      { accept: 'application/json;pretty=1' },
    ]) {
      expect([asked, isPretty((await leases.get('a', asked)).text)]).toEqual([asked, true]);
    }
    for (const asked of [
      {},
      { query: { pretty: 'false' } },
      { query: { pretty: '0' }, userAgent: 'curl/8' },
      { query: { pretty: 'false' }, userAgent: 'Mozilla/5.0' },
    ]) {
      expect([asked, isPretty((await leases.get('a', asked)).text)]).toEqual([asked, false]);
    }
  });

  test('indents errors, too', async ({ leases }) => {
    const answer = await leases.get('a', { query: { pretty: 'true' } });
    expectAnswer(answer, 404, notFound(leaseResource, 'a'));
    expect(isPretty(answer.text)).toBe(true);
  });

  test('indents errors if the client does not want plain JSON', async ({ leases }) => {
    const { table } = mediaTypes;
    expect(isPretty((await leases.get('a', { accept: table })).text)).toBe(true);
    expect(isPretty((await leases.get('a', { accept: `${table},application/json` })).text)).toBe(false);
  });

  test('ends every JSON answer with a line break', async ({ leases }) => {
    await leases.make(object);
    expect((await leases.get('a')).text.endsWith('}\n')).toBe(true);
    expect((await leases.get('b')).text.endsWith('}\n')).toBe(true);
  });
}
