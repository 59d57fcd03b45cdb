import { describe, expect, test } from 'vitest';
import { createAccess } from '../../../src/apiserver/access/access.ts';
import { createPathHandlers } from '../../../src/apiserver/discovery/path-handlers.ts';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import type { Answer, Exchange } from '../../../src/apiserver/http/answer.ts';
import { parseTarget } from '../../../src/apiserver/http/routes.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';

const pages = createPathHandlers({
  // In an order that nobody prefers.
  resources: createResources({ leaseCandidateVersions: ['v1alpha1', 'v1beta1', 'v1alpha2'] }),
  gitVersion: 'v1.36.3',
});

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];
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
  test('names the versions of the core group', () => {
    expect(json('GET /api', { host: 'here:1' })).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'here:1' }],
    });
  });

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

  test('describes the resources of a version', () => {
    expect(json('GET /apis/coordination.k8s.io/v1')).toEqual({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'coordination.k8s.io/v1',
      resources: [
        {
          name: 'leases',
          singularName: 'lease',
          namespaced: true,
          kind: 'Lease',
          verbs,
        },
      ],
    });
  });

  test('describes those of the core group, of which namespaces are not deleted all at once', () => {
    expect(json('GET /api/v1')).toEqual({
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: [
        {
          name: 'events',
          singularName: 'event',
          namespaced: true,
          kind: 'Event',
          verbs,
          shortNames: ['ev'],
        },
        {
          name: 'namespaces',
          singularName: 'namespace',
          namespaced: false,
          kind: 'Namespace',
          verbs: verbs.filter((verb) => verb !== 'deletecollection'),
          shortNames: ['ns'],
        },
      ],
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

  test('is there with a slash at its end too', () => {
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

  test('is written in YAML for those who want that', () => {
    const answer = ask('GET /apis/coordination.k8s.io/v1', { accept: 'application/yaml' });
    expect(answer).toMatchObject({ contentType: 'application/yaml' });
    expect(
      answer.body.startsWith('apiVersion: v1\ngroupVersion: coordination.k8s.io/v1\nkind: APIResourceList\n'),
    ).toBe(true);
  });

  test('gives everything at once to those who ask for it, who keep it', () => {
    const answer = ask('GET /apis', { accept: `${aggregated},${aggregatedBeta},application/json` });
    expect(answer).toMatchObject({ contentType: aggregated, cacheControl: 'public' });
    const { kind, apiVersion, items } = JSON.parse(answer.body);
    expect([kind, apiVersion]).toEqual(['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2']);
    expect(items[0].metadata).toEqual({ name: 'coordination.k8s.io' });
    expect(items[0].versions[0]).toEqual({
      version: 'v1',
      resources: [
        {
          resource: 'leases',
          responseKind: { group: '', version: '', kind: 'Lease' },
          scope: 'Namespaced',
          singularResource: 'lease',
          verbs,
        },
      ],
      freshness: 'Current',
    });
    const [, tag = ''] = answer.headers ?? [];
    expect(tag).toMatch(/^"[0-9A-F]{128}"$/);
    expect(answer.headers).toEqual(['Etag', tag, 'Vary', 'Accept']);
    expect(ask('GET /apis', { accept: aggregated, 'if-none-match': tag })).toMatchObject({
      code: 304,
      body: '',
    });
    expect(ask('GET /apis', { accept: aggregated, 'if-none-match': '"other"' }).code).toBe(200);
  });

  test('gives the core group at once too, in the older version as well', () => {
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

test('the version says what the server is like', () => {
  const { body } = ask('GET /version');
  expect(body.startsWith('{\n  "major": "1",\n  "minor": "36",\n  "gitVersion": "v1.36.3",\n')).toBe(true);
});

test('the index names every page once', () => {
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

describe('health', () => {
  test.each(['/livez', '/readyz', '/healthz', '/livez/ping', '/readyz/ping'])('of %s is ok', (path) => {
    const contentType = 'text/plain; charset=utf-8';
    expect(ask(`GET ${path}`)).toMatchObject({ code: 200, body: 'ok', contentType });
  });

  test('is told check by check on request', () => {
    expect(ask('GET /readyz?verbose').body).toBe('[+]ping ok\nreadyz check passed\n');
  });
});

describe('an OpenAPI document', () => {
  const path = '/openapi/v3/apis/coordination.k8s.io/v1';
  const url: string = json('GET /openapi/v3').paths['apis/coordination.k8s.io/v1'].serverRelativeURL;

  test('is listed under a name that changes with it', () => {
    expect(url).toMatch(/^\/openapi\/v3\/apis\/coordination\.k8s\.io\/v1\?hash=[0-9A-F]{128}$/);
    expect(Object.keys(json('GET /openapi/v3').paths).toSorted()).toEqual([
      'api/v1',
      'apis/coordination.k8s.io/v1',
      'apis/coordination.k8s.io/v1alpha1',
      'apis/coordination.k8s.io/v1alpha2',
      'apis/coordination.k8s.io/v1beta1',
    ]);
  });

  test('may be kept for ever under that name', () => {
    const hash = url.split('=')[1] ?? '';
    expect(ask(`GET ${url}`)).toMatchObject({
      code: 200,
      contentType: 'application/json',
      cacheControl: 'public, immutable, max-age=31536000',
      headers: ['Etag', `"${hash}"`, 'Vary', 'Accept'],
    });
    expect(ask(`GET ${path}`).cacheControl).toBeUndefined();
    expect(ask(`GET ${path}`, { 'if-none-match': `"${hash}"` })).toMatchObject({ code: 304, body: '' });
  });

  test('is what it is now under a former name, too, but may not be kept', () => {
    expect(ask(`GET ${path}?hash=OLD`)).toEqual(ask(`GET ${path}`));
  });

  test('is written in JSON only', () => {
    expect(ask(`GET ${path}`, { accept: 'text/html' })).toMatchObject({ code: 406, body: '' });
    expect(ask(`GET ${path}`, { accept: 'text/html,*/*' }).code).toBe(200);
  });
});

/** A request of an administrator, as pages get it. Names of headers are in lower case. */
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
