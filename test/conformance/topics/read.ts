import { expect } from 'vitest';
import {
  expectAnswer,
  failure,
  lease,
  leases as leaseResource,
  methodNotAllowed,
  noSuchPath,
  notFound,
  revisionTooNew,
} from '../expected.ts';
import type { Suite } from '../suite.ts';

export function describeRead({ test }: Suite): void {
  test('returns the object', async ({ namespace, leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    const answer = await leases.get('a');
    expectAnswer(answer, 200, lease(namespace, 'a'));
    expect(answer.json).toEqual(made);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.headers['cache-control']).toBe('no-cache, private');
  });

  test('names the missing object', async ({ leases }) => {
    expectAnswer(await leases.get('a'), 404, notFound(leaseResource, 'a'));
    expectAnswer(await leases.get('Not_A_Name'), 404, notFound(leaseResource, 'Not_A_Name'));
  });

  test('accepts any past resourceVersion', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    // The last object first: any state may answer the other reads, and by then that state includes all objects.
    for (const resourceVersion of [made.metadata.resourceVersion, '0', '1', '']) {
      const answer = await leases.get('a', { query: { resourceVersion } });
      expect({ code: answer.code, body: answer.json }).toEqual({ code: 200, body: made });
    }
  });

  test('refuses an invalid resourceVersion', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });

    expectAnswer(await leases.get('a', { query: { resourceVersion: 'abc' } }), 500, failure(500, ''));
  });

  test('cannot wait for a resourceVersion in the far future', async ({ leases }) => {
    await leases.make({ metadata: { name: 'a' } });
    const resourceVersion = '987654321';
    const answer = await leases.get('a', { query: { resourceVersion } });
    expectAnswer(answer, 504, revisionTooNew);
    expect(answer.headers['retry-after']).toBe('1');
  });

  test('ignores parameters of lists', async ({ leases }) => {
    const made = await leases.make({ metadata: { name: 'a' } });
    for (const query of [{ watch: true }, { fieldSelector: 'nonsense' }, { limit: '1' }, { unknown: '1' }]) {
      const answer = await leases.get('a', { query });
      expect({ code: answer.code, body: answer.json }).toEqual({ code: 200, body: made });
    }
  });

  test('accepts a trailing slash', async ({ namespace, leases, request }) => {
    await leases.make({ metadata: { name: 'a' } });
    expectAnswer(await request('GET', `${leases.path}/a/`), 200, lease(namespace, 'a'));
    expect((await request('GET', `${leases.path}/`)).json['kind']).toBe('LeaseList');
  });

  test('has no other paths', async ({ leases, request }) => {
    for (const path of [
      `${leases.path}/a/status`,
      `${leases.path}//a`,
      `${leases.path}/a%2Fb`,
      '/apis/coordination.k8s.io/v1/leases/a',
      '/apis/coordination.k8s.io/v1/others',
      '/apis/coordination.k8s.io/v7/leases',
      '/apis/coordination.k8s.io/v1/namespaces/default/leasecandidates',
      '/api/v1/others',
      '/api/v7',
    ]) {
      expectAnswer(await request('GET', path), 404, noSuchPath);
    }
  });

  test('answers paths outside of the API in plain text', async ({ request }) => {
    for (const path of ['/no-such-path', '/apis/no-such-group/v1/things']) {
      const { code, headers, text } = await request('GET', path);
      expect({ code, text, type: headers['content-type'] }).toEqual({
        code: 404,
        text: '404 page not found\n',
        type: 'text/plain; charset=utf-8',
      });
    }
  });

  test('refuses unsupported methods of a path', async ({ leases, request }) => {
    const body = { metadata: { name: 'a' } };
    for (const [method, path] of [
      ['POST', `${leases.path}/a`],
      ['PUT', leases.path],
      ['PATCH', leases.path],
      ['OPTIONS', leases.path],
      ['PURGE', `${leases.path}/a`],
      ['POST', '/apis/coordination.k8s.io/v1/leases'],
      ['DELETE', '/apis/coordination.k8s.io/v1/leases'],
      ['DELETE', '/api/v1/namespaces'],
    ] as const) {
      const hasBody = method === 'POST' || method === 'PUT' || method === 'PATCH';
      expectAnswer(await request(method, path, hasBody ? { body } : {}), 405, methodNotAllowed);
    }
    const head = await request('HEAD', `${leases.path}/a`);
    expect({ code: head.code, text: head.text }).toEqual({ code: 405, text: '' });
  });
}
