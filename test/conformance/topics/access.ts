import { expect } from 'vitest';
import { expectAnswer, failure } from '../expected.ts';
import type { Suite } from '../suite.ts';

/** The answer to a list of Leases without a token. */
const mayNotList = failure(403, 'Forbidden', { group: 'coordination.k8s.io', kind: 'leases' });

export function describeAccess({ test }: Suite): void {
  const unauthorized = failure(401, 'Unauthorized');

  test('refuses a wrong token', async ({ leases, request }) => {
    const token = 'not-a-token';
    for (const path of [leases.path, '/api', '/apis', '/version', '/livez', '/openapi/v3', '/no-such-path']) {
      expectAnswer(await request('GET', path, { token }), 401, unauthorized);
    }
    expectAnswer(await leases.create({ metadata: { name: 'a' } }, { token }), 401, unauthorized);
  });

  test('treats other credentials than a bearer token as anonymous', async ({ leases }) => {
    const answer = await leases.list({ token: '', headers: { authorization: 'Basic YTpi' } });
    expectAnswer(answer, 403, mayNotList);
  });

  test('tells an anonymous user only its version and health', async ({ leases, request }) => {
    for (const path of ['/version', '/livez', '/readyz', '/healthz']) {
      expect((await request('GET', path, { token: '' })).code).toBe(200);
    }
    for (const path of ['/api', '/apis', '/apis/coordination.k8s.io/v1', '/openapi/v3']) {
      expectAnswer(await request('GET', path, { token: '' }), 403, failure(403, 'Forbidden', {}));
    }
    expectAnswer(await leases.list({ token: '' }), 403, mayNotList);
  });

  test('lets a reader read', async ({ leases, request, target }) => {
    const { token } = target.reader;
    const made = await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await leases.get('a', { token }), 200, made);
    expect((await leases.list({ token })).json.items).toHaveLength(1);
    for (const path of [
      '/apis/coordination.k8s.io/v1/leases',
      '/api/v1/namespaces',
      '/api',
      '/apis',
      '/openapi/v3',
    ]) {
      expect((await request('GET', path, { token })).code).toBe(200);
    }
    const watch = await leases.watch({ token });
    expect(await watch.next()).toEqual({ type: 'ADDED', object: made });
    watch.close();
  });

  test('allows no changes by a reader, and names the missing permission', async ({ leases, target }) => {
    const { token } = target.reader;
    const made = await leases.make({ metadata: { name: 'a' } });
    const refused = (name = '') => {
      return failure(403, 'Forbidden', {
        ...(name !== '' && { name }),
        group: 'coordination.k8s.io',
        kind: 'leases',
      });
    };
    expectAnswer(await leases.create({ metadata: { name: 'b' } }, { token }), 403, refused());
    expectAnswer(await leases.replace('a', made, { token }), 403, refused('a'));
    expectAnswer(await leases.mergePatch('a', {}, { token }), 403, refused('a'));
    expectAnswer(await leases.apply('a', 'm', {}, { token }), 403, refused('a'));
    expectAnswer(await leases.delete('a', undefined, { token }), 403, refused('a'));
    expectAnswer(await leases.deleteAll(undefined, { token }), 403, refused());
    expect((await leases.get('a')).json).toEqual(made);
  });

  test('creates nothing by an update or an apply without the permission to create', async ({
    leases,
    target,
  }) => {
    const { token } = target.changer;

    const refused = failure(403, 'Forbidden', { name: 'a', group: 'coordination.k8s.io', kind: 'leases' });
    const query = { dryRun: 'All' };
    const object = { metadata: { name: 'a' } };
    expectAnswer(await leases.replace('a', object, { token }), 403, refused);
    expectAnswer(await leases.replace('a', object, { token, query }), 403, refused);
    expectAnswer(await leases.apply('a', 'm', object, { token }), 403, refused);
    expectAnswer(await leases.apply('a', 'm', object, { token, query }), 403, refused);
    // The validation of the object comes first.
    const wrong = { ...object, spec: { leaseDurationSeconds: -1 } };
    expect((await leases.replace('a', wrong, { token })).code).toBe(422);
    expect((await leases.get('a')).code).toBe(404);
    await leases.make(object);
    expect((await leases.apply('a', 'm', object, { token })).code).toBe(200);
    expect((await leases.mergePatch('a', { spec: { holderIdentity: 'x' } }, { token })).code).toBe(200);
  });

  test('gives an impersonated user no administrator permissions', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const headers = { 'impersonate-user': 'nobody' };
    expect((await leases.delete('a', undefined, { headers })).code).toBe(403);
    expect((await leases.mergePatch('a', { spec: { holderIdentity: 'x' } }, { headers })).code).toBe(403);
    expect((await leases.list({ headers })).code).toBe(403);
    expectAnswer(await leases.get('a'), 200, made);
  });

  test('names the missing permission without a namespace', async ({ request, target }) => {
    const { token } = target.reader;
    expectAnswer(
      await request('POST', '/api/v1/namespaces', { token, body: { metadata: { name: 'not-made' } } }),
      403,
      failure(403, 'Forbidden', { kind: 'namespaces' }),
    );
  });

  test('does not read a body that it refuses anyway', async ({ leases, target }) => {
    const asked = { token: target.reader.token, rawBody: '{' };
    expect((await leases.create(undefined, asked)).code).toBe(403);
  });
}
