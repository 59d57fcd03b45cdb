import { describe, expect, test } from 'vitest';
import { parseTarget } from '../../../src/apiserver/http/routes.ts';

const leases = { kind: 'resource', group: 'coordination.k8s.io', resource: 'leases' };
const inDefault = { ...leases, namespace: 'default' };
const root = '/apis/coordination.k8s.io/v1';

describe('parseTarget', () => {
  test.each([
    { line: `GET ${root}/leases`, want: { ...leases, verb: 'list' } },
    { line: `GET ${root}/leases?watch=1`, want: { ...leases, verb: 'watch' } },
    { line: `GET ${root}/namespaces/default/leases`, want: { ...inDefault, verb: 'list' } },
    { line: `GET ${root}/namespaces/default/leases/`, want: { ...inDefault, verb: 'list' } },
    { line: `GET ${root}/namespaces/default/leases?watch=true&a=b`, want: { ...inDefault, verb: 'watch' } },
    { line: `GET ${root}/namespaces/default/leases?watch=false`, want: { ...inDefault, verb: 'list' } },
    {
      line: `GET ${root}/namespaces/default/leases/a?watch=1`,
      want: { ...inDefault, verb: 'get', name: 'a' },
    },
    { line: `HEAD ${root}/namespaces/default/leases`, want: { ...inDefault, verb: 'list' } },
    { line: `POST ${root}/namespaces/default/leases`, want: { ...inDefault, verb: 'create' } },
    { line: `PUT ${root}/namespaces/default/leases/a`, want: { ...inDefault, verb: 'update', name: 'a' } },
    { line: `PATCH ${root}/namespaces/default/leases/a`, want: { ...inDefault, verb: 'patch', name: 'a' } },
    { line: `DELETE ${root}/namespaces/default/leases/a`, want: { ...inDefault, verb: 'delete', name: 'a' } },
    { line: `DELETE ${root}/namespaces/default/leases`, want: { ...inDefault, verb: 'deletecollection' } },
    { line: `OPTIONS ${root}/namespaces/default/leases`, want: { ...inDefault, verb: '' } },
    {
      line: `GET ${root}/namespaces/default/leases/a/status`,
      want: { ...inDefault, verb: 'get', name: 'a', subresource: 'status' },
    },
    { line: `GET ${root}/namespaces/default/leases/%61`, want: { ...inDefault, verb: 'get', name: 'a' } },
    { line: `GET http://anywhere${root}/leases`, want: { ...leases, verb: 'list' } },
    {
      line: 'GET /api/v1/namespaces',
      want: { kind: 'resource', verb: 'list', group: '', resource: 'namespaces' },
    },
    {
      line: 'GET /api/v1/namespaces/default',
      want: {
        kind: 'resource',
        verb: 'get',
        group: '',
        resource: 'namespaces',
        namespace: 'default',
        name: 'default',
      },
    },
    {
      line: 'PUT /api/v1/namespaces/default/finalize',
      want: {
        kind: 'resource',
        verb: 'update',
        group: '',
        resource: 'namespaces',
        subresource: 'finalize',
        namespace: 'default',
        name: 'default',
      },
    },
    {
      line: 'GET /api/v1/namespaces/default/events',
      want: { kind: 'resource', verb: 'list', group: '', resource: 'events', namespace: 'default' },
    },
    { line: 'GET /api/v1', want: { kind: 'path', verb: 'get', path: '/api/v1' } },
    { line: 'GET /apis/coordination.k8s.io/v1/', want: { kind: 'path', verb: 'get', path: `${root}/` } },
    { line: 'POST /livez?verbose', want: { kind: 'path', verb: 'post', path: '/livez' } },
    { line: `GET /${root}/leases`, want: { kind: 'path', verb: 'get', path: `/${root}/leases` } },
    { line: 'OPTIONS *', want: { kind: 'path', verb: 'options', path: '*' } },
  ])('$line', ({ line, want }) => {
    const [method = '', url = ''] = line.split(' ');
    expect(parseTarget(method, url)?.attributes).toEqual(want);
  });

  test('decodes the parts of a path after splitting it', () => {
    expect(parseTarget('GET', `${root}/namespaces/default/leases/a%2Fb`)?.resource?.parts).toEqual([
      'leases',
      'a',
      'b',
    ]);
  });

  test('parses a path of slashes in linear time', () => {
    // A regular expression that tries each slash with all that follow would take a quarter of an hour.
    expect(parseTarget('GET', `${'/'.repeat(1_000_000)}a`)?.resource).toBeUndefined();
  });

  test('refuses a path that cannot be decoded', () => {
    expect(parseTarget('GET', '/livez%zz')).toBeUndefined();
  });
});

test.each([
  { query: '', want: false },
  { query: 'watch', want: true },
  { query: 'watch=', want: true },
  { query: 'watch=true', want: true },
  { query: 'watch=1', want: true },
  { query: 'watch=yes', want: true },
  { query: 'watch=0', want: false },
  { query: 'watch=False', want: false },
  { query: 'watch=false&watch=true', want: false },
])('"$query" sets watch: $want', ({ query, want }) => {
  expect(parseTarget('GET', `/api/v1/namespaces?${query}`)?.attributes.verb).toBe(want ? 'watch' : 'list');
});
