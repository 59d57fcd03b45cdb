import { describe, expect, test } from 'vitest';
import { createAccess } from '../../../src/apiserver/access/access.ts';
import { createPathHandlers } from '../../../src/apiserver/discovery/path-handlers.ts';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import type { Answer, Exchange } from '../../../src/apiserver/http/answer.ts';
import { parseTarget } from '../../../src/apiserver/http/routes.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';

const pages = createPathHandlers({
  // In no preferred order.
  resources: createResources({ leaseCandidateVersions: ['v1alpha1', 'v1beta1', 'v1alpha2'] }),
  gitVersion: 'v1.36.3',
});

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const aggregatedBeta = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

function ask(line: string, headers: Readonly<Record<string, string>> = {}): Answer {
  const exchange = makeExchange(line, headers);
  const page = pages.get(exchange.target.path);
  if (page === undefined) throw new Error(`there is no page at ${exchange.target.path}`);
  return page(exchange);
}

function json(line: string, headers: Readonly<Record<string, string>> = {}) {
  return JSON.parse(ask(line, headers).body);
}

function refusal(line: string, headers: Readonly<Record<string, string>> = {}): ApiError['status'] {
  try {
    ask(line, headers);
  } catch (error) {
    if (error instanceof ApiError) return error.status;
    throw error;
  }
  throw new Error(`${line} is answered`);
}

describe('discovery', () => {
  test('names the other groups, mature versions first', () => {
    const { kind, apiVersion, groups } = json('GET /apis');
    expect([kind, apiVersion]).toEqual(['APIGroupList', 'v1']);
    expect(
      groups.map(({ name, versions }: { name: string; versions: { version: string }[] }) => [
        name,
        ...versions.map(({ version }) => version),
      ]),
    ).toEqual([
      ['coordination.k8s.io', 'v1', 'v1beta1', 'v1alpha2', 'v1alpha1'],
      ['authentication.k8s.io', 'v1'],
      ['authorization.k8s.io', 'v1'],
    ]);
    expect(json('GET /apis/authorization.k8s.io')).toEqual({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'authorization.k8s.io',
      versions: [{ groupVersion: 'authorization.k8s.io/v1', version: 'v1' }],
      preferredVersion: { groupVersion: 'authorization.k8s.io/v1', version: 'v1' },
    });
  });

  test('describes reviews, which can only be created', () => {
    const { resources } = json('GET /apis/authorization.k8s.io/v1');
    expect(resources[0]).toEqual({
      name: 'selfsubjectaccessreviews',
      singularName: 'selfsubjectaccessreview',
      namespaced: false,
      kind: 'SelfSubjectAccessReview',
      verbs: ['create'],
    });
  });

  test('accepts a trailing slash', () => {
    for (const path of [
      '/api',
      '/apis',
      '/api/v1',
      '/apis/coordination.k8s.io',
      '/apis/coordination.k8s.io/v1',
      '/version',
    ]) {
      expect(ask(`GET ${path}/`)).toEqual(ask(`GET ${path}`));
    }
  });

  test('is in YAML on request', () => {
    const answer = ask('GET /apis/coordination.k8s.io/v1', { accept: 'application/yaml' });
    expect(answer).toMatchObject({ contentType: 'application/yaml' });
    expect(
      answer.body.startsWith('apiVersion: v1\ngroupVersion: coordination.k8s.io/v1\nkind: APIResourceList\n'),
    ).toBe(true);
  });

  test('serves the core group in one request, too, also in the older version', () => {
    const { apiVersion, items } = json('GET /api', { accept: aggregatedBeta });
    expect([apiVersion, items.length, items[0].metadata]).toEqual(['apidiscovery.k8s.io/v2beta1', 1, {}]);
  });

  test.each(['/api/v1', '/apis/coordination.k8s.io', '/apis/coordination.k8s.io/v1'])(
    'gives one thing at a time at %s',
    (path) => {
      expect(ask(`GET ${path}`, { accept: `${aggregated},application/json` }).contentType).toBe(
        'application/json',
      );
    },
  );

  test.each([
    { line: 'POST /api', want: 405 },
    { line: 'PUT /apis/coordination.k8s.io/v1', want: 405 },
    { line: 'HEAD /version', want: 405 },
    { line: 'GET /api', accept: 'text/html', want: 406 },
    { line: 'GET /apis', accept: 'text/html', want: 406 },
    { line: 'GET /apis/coordination.k8s.io', accept: 'text/html', want: 406 },
    {
      line: 'GET /apis',
      accept: 'application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList',
      want: 406,
    },
    { line: 'GET /version', accept: 'application/yaml', want: 406 },
  ])('refuses $line for "$accept" with $want', ({ line, accept = '', want }) => {
    expect(refusal(line, { accept }).code).toBe(want);
  });
});

test('the index contains every page once', () => {
  const { paths } = json('GET /');
  expect(paths).toEqual([...new Set<string>(paths)].toSorted());
  expect(paths).toEqual(
    expect.arrayContaining([
      '/api',
      '/apis/coordination.k8s.io/v1',
      '/livez/ping',
      '/openapi/v3',
      '/version',
    ]),
  );
});

describe('an OpenAPI document', () => {
  const path = '/openapi/v3/apis/coordination.k8s.io/v1';

  test('is also served under its former name, but not for caching', () => {
    expect(ask(`GET ${path}?hash=OLD`)).toEqual(ask(`GET ${path}`));
  });

  test('is in JSON only', () => {
    expect(ask(`GET ${path}`, { accept: 'text/html' })).toMatchObject({ code: 406, body: '' });
    expect(ask(`GET ${path}`, { accept: 'text/html,*/*' }).code).toBe(200);
  });
});

/** A request of an administrator, as a page handler gets it. Header names are in lower case. */
function makeExchange(line: string, headers: Readonly<Record<string, string>> = {}): Exchange {
  const [method = '', url = ''] = line.split(' ');
  const target = parseTarget(method, url);
  const admin = { token: 't', user: { name: 'admin', groups: [] }, rules: 'admin' as const };
  const principal = createAccess([admin]).authenticate('Bearer t');
  if (target === undefined || principal === undefined) throw new Error(`${line} is no request`);
  return {
    incoming: {
      method,
      url,
      header: (name) => headers[name] ?? '',
      headerNames: () => Object.keys(headers),
      readBody: async () => Buffer.alloc(0),
    },
    target,
    reader: {
      accept: headers['accept'] ?? '',
      userAgent: headers['user-agent'] ?? '',
      query: target.query,
    },
    principal,
    warn: () => {},
  };
}
