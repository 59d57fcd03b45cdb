import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddedApi, startEmbeddedTarget } from '../../conformance/embedded-target.ts';
import type { RunningTarget } from '../../conformance/target.ts';
import { mediaTypes, openWorkspace, type Workspace } from '../../conformance/workspace.ts';

let running: RunningTarget;
let workspace: Workspace;

beforeAll(async () => {
  running = await startEmbeddedTarget(embeddedApi('v1beta1'));
  workspace = await openWorkspace(running.target);
});

afterAll(() => running?.stop());

/** As many labels as make a request a large one many times over. */
function labels(count: number, prefix = 'k'): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, '']));
}

describe('while a large request is worked on', () => {
  const item = '- {a: 1, b: [2, 3]}\n';
  const yaml = (name: string) => `metadata:\n  name: ${name}\nother:\n${item.repeat(20_000)}`;

  test.each([
    { what: 'YAML', contentType: 'application/yaml', rawBody: yaml('in-yaml') },
    {
      what: 'JSON',
      contentType: 'application/json',
      rawBody: JSON.stringify({ metadata: { name: 'in-json', labels: labels(20_000) } }),
    },
  ])('others are answered: $what', async ({ contentType, rawBody }) => {
    const { leases, request } = workspace;
    let isDone = false;
    const large = request('POST', leases.path, { contentType, rawBody }).finally(() => {
      isDone = true;
    });
    let answered = 0;
    while (!isDone) {
      await leases.list({ query: { limit: 1 } });
      answered += 1;
    }
    expect((await large).code).toBe(201);
    // Had they waited for it, there would be one or two.
    expect(answered).toBeGreaterThan(10);
  });

  test('a write to the same object is not lost', async () => {
    const { leases } = workspace;
    await leases.make({ metadata: { name: 'shared' }, spec: { leaseTransitions: 1 } });
    const large = leases.mergePatch('shared', { metadata: { labels: labels(10_000) } });
    let transitions = 1;
    for (; transitions < 10; transitions += 1) {
      const { code } = await leases.mergePatch('shared', { spec: { leaseTransitions: transitions + 1 } });
      expect(code).toBe(200);
    }
    expect((await large).code).toBe(200);
    const { json } = await leases.get('shared');
    expect(json.spec['leaseTransitions']).toBe(10);
    expect(Object.keys(json.metadata.labels ?? {})).toHaveLength(10_000);
  });

  test('large patches of one object are all carried out', async () => {
    const { leases } = workspace;
    await leases.make({ metadata: { name: 'patched' } });
    const answers = await Promise.all(
      ['a', 'b', 'c'].map((prefix) =>
        leases.mergePatch('patched', { metadata: { labels: labels(2_000, prefix) } }),
      ),
    );
    expect(answers.map(({ code }) => code)).toEqual([200, 200, 200]);
    const { json } = await leases.get('patched');
    expect(Object.keys(json.metadata.labels ?? {})).toHaveLength(6_000);
  });
});

describe('a large request', () => {
  const name = () => `large-${crypto.randomUUID()}`;

  test('is refused as a small one is', async () => {
    const { leases } = workspace;
    const object = { metadata: { name: name(), labels: labels(5_000) }, spec: { leaseTransitions: -1 } };
    const { code, json } = await leases.create(object);
    expect({ code, reason: json['reason'] }).toEqual({ code: 422, reason: 'Invalid' });
  });

  test('is refused in so many words and no more', async () => {
    const { leases } = workspace;
    const wrong = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`$${index}`, '$']));
    const { code, json, text } = await leases.create({ metadata: { name: name(), labels: wrong } });
    expect({ code, reason: json['reason'] }).toEqual({ code: 422, reason: 'Invalid' });
    expect(text.length).toBeLessThan(200_000);
  });

  test('has its warnings', async () => {
    const { leases } = workspace;
    const { warnings } = await leases.create({
      metadata: { name: name(), labels: labels(5_000) },
      spec: { other: 1 },
    });
    expect(warnings).toEqual(['unknown field "spec.other"']);
  });

  test('does not create what is there already', async () => {
    const { leases } = workspace;
    const object = { metadata: { name: name(), labels: labels(5_000) } };
    const codes = [(await leases.create(object)).code, (await leases.create(object)).code];
    expect(codes).toEqual([201, 409]);
  });

  test('draws a name', async () => {
    const { leases } = workspace;
    const { metadata } = await leases.make({ metadata: { generateName: 'drawn-', labels: labels(5_000) } });
    expect(metadata.name).toMatch(/^drawn-[a-z0-9]{5}$/);
  });

  test('changes nothing in a dry run, and shows what it would', async () => {
    const { leases } = workspace;
    const object = { metadata: { name: name(), labels: labels(5_000) } };
    const { code, json } = await leases.create(object, { query: { dryRun: 'All' } });
    expect({ code, labels: json.metadata.labels }).toEqual({ code: 201, labels: object.metadata.labels });
    expect((await leases.get(object.metadata.name)).code).toBe(404);
  });

  test('writes nothing where nothing changes', async () => {
    const { leases } = workspace;
    const { metadata } = await leases.make({ metadata: { name: name(), labels: labels(5_000) } });
    const { json } = await leases.mergePatch(metadata.name, { metadata: { labels: metadata.labels } });
    expect(json.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  test('takes the last finalizer from what is being deleted', async () => {
    const { leases } = workspace;
    const { metadata } = await leases.make({
      metadata: { name: name(), labels: labels(5_000), finalizers: ['a/b'] },
    });
    await leases.delete(metadata.name);
    expect((await leases.mergePatch(metadata.name, { metadata: { finalizers: null } })).code).toBe(200);
    expect((await leases.get(metadata.name)).code).toBe(404);
  });

  test('is shown as its client asks', async () => {
    const { leases } = workspace;
    const object = { metadata: { name: name(), labels: labels(5_000) } };
    const { json } = await leases.create(object, { accept: mediaTypes.table });
    expect(json['kind']).toBe('Table');
  });

  test('deletes by what its options say', async () => {
    const { leases } = workspace;
    const { metadata } = await leases.make({ metadata: { name: name() } });
    const options = (uid: string) => ({ preconditions: { uid }, other: labels(5_000) });
    expect((await leases.delete(metadata.name, options('another'))).code).toBe(409);
    expect((await leases.delete(metadata.name, { ...options('another'), dryRun: ['None'] })).code).toBe(422);
    expect((await leases.delete(metadata.name, options(metadata.uid))).code).toBe(200);
  });

  test('reviews access', async () => {
    const { request } = workspace;
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const resourceAttributes = { verb: 'get', resource: 'leases' };
    const ask = (body: object) => request('POST', path, { body: { ...body, other: labels(5_000) } });
    expect((await ask({ spec: { resourceAttributes } })).json['status']).toEqual({ allowed: true });
    expect((await ask({ spec: 'x' })).code).toBe(400);
  });

  test('is answered in YAML', async () => {
    const { leases } = workspace;
    const { metadata } = await leases.make({ metadata: { name: name(), labels: labels(5_000) } });
    const { text, headers } = await leases.get(metadata.name, { accept: 'application/yaml' });
    expect(headers['content-type']).toBe('application/yaml');
    expect(text).toContain('\n    k4999: ""\n');
  });

  test('is refused where no etcd would keep what comes of it', async () => {
    const { leases } = workspace;
    const object = (bytes: number) => ({
      metadata: { name: name() },
      spec: { holderIdentity: 'h'.repeat(bytes) },
    });
    expect((await leases.create(object(1_500_000))).code).toBe(201);
    const { code, json } = await leases.create(object(1_600_000));
    expect({ code, message: json['message'] }).toEqual({
      code: 500,
      message: 'etcdserver: request is too large',
    });
    expect((await leases.create(object(1_600_000), { query: { dryRun: 'All' } })).code).toBe(201);
  });
});
