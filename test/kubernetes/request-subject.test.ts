import { describe, expect, test } from 'vitest';
import { describeTarget, pathWithQuery } from '../../src/kubernetes/client.ts';

const group = '/apis/coordination.k8s.io/v1';

describe('what a request is about', () => {
  test.each([
    { method: 'GET', path: `${group}/leases`, want: 'list leases' },
    { method: 'GET', path: `${group}/namespaces/a/leases`, want: 'list leases' },
    { method: 'GET', path: `${group}/namespaces/a/leases/b`, want: 'get leases' },
    { method: 'POST', path: `${group}/namespaces/a/leases`, want: 'create leases' },
    { method: 'PUT', path: `${group}/namespaces/a/leases/b`, want: 'update leases' },
    { method: 'PATCH', path: `${group}/namespaces/a/leases/b/status`, want: 'patch leases/status' },
    { method: 'DELETE', path: `${group}/namespaces/a/leases/b`, want: 'delete leases' },
    { method: 'DELETE', path: `${group}/namespaces/a/leases`, want: 'deletecollection leases' },
    { method: 'GET', path: '/api/v1/namespaces', want: 'list namespaces' },
    { method: 'GET', path: '/api/v1/namespaces/a', want: 'get namespaces' },
    { method: 'POST', path: '/api/v1/namespaces/a/events', want: 'create events' },
    { method: 'GET', path: '/apis/coordination.k8s.io', want: 'get /apis/coordination.k8s.io' },
    { method: 'GET', path: '/version', want: 'get /version' },
  ])('is $want for $method $path', ({ method, path, want }) => {
    const { verb, resource } = describeTarget(method, path);
    expect(`${verb} ${resource}`).toBe(want);
  });

  test('is a watch if the query says so', () => {
    expect(describeTarget('GET', `${group}/leases`, { watch: true }).verb).toBe('watch');
  });
});

describe('a path with its query', () => {
  test('escapes values and omits undefined ones', () => {
    const query = { fieldSelector: 'spec.leaseName=a&b', limit: 5, watch: false, continue: undefined };
    expect(pathWithQuery('/p', query)).toBe('/p?fieldSelector=spec.leaseName%3Da%26b&limit=5&watch=false');
    expect(pathWithQuery('/p', {})).toBe('/p');
  });
});
