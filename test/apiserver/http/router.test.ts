import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { createRouter, parseTarget, type ResourceRoute } from '../../../src/apiserver/http/routes.ts';
import { resources } from './make-front.ts';

const router = createRouter(resources);
const root = '/apis/coordination.k8s.io/v1';
const inDefault = `${root}/namespaces/default/leases`;

function routed(line: string): { route: ResourceRoute; query: URLSearchParams } {
  const [method = '', url = ''] = line.split(' ');
  const target = parseTarget(method, url);
  if (target?.resource === undefined) throw new Error(`${url} is no path of a resource`);
  return { route: router.route(method, target.resource, target.query), query: target.query };
}

function refusal(line: string): ApiError {
  try {
    routed(line);
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error(`${line} is served`);
}

describe('a router', () => {
  test.each([
    { line: `GET ${root}/leases`, want: ['list', undefined, undefined] },
    { line: `GET ${root}/leases?watch=1`, want: ['watch', undefined, undefined] },
    { line: `GET ${root}/namespaces//leases`, want: ['list', undefined, undefined] },
    { line: `GET ${inDefault}`, want: ['list', 'default', undefined] },
    { line: `POST ${inDefault}`, want: ['create', 'default', undefined] },
    { line: `DELETE ${inDefault}`, want: ['deletecollection', 'default', undefined] },
    { line: `GET ${inDefault}/a?watch=1`, want: ['get', 'default', 'a'] },
    { line: `PUT ${inDefault}/a`, want: ['update', 'default', 'a'] },
    { line: `PATCH ${inDefault}/a`, want: ['patch', 'default', 'a'] },
    { line: `DELETE ${inDefault}/a`, want: ['delete', 'default', 'a'] },
    { line: 'GET /api/v1/namespaces', want: ['list', undefined, undefined] },
    { line: 'POST /api/v1/namespaces', want: ['create', undefined, undefined] },
    { line: 'GET /api/v1/namespaces/default', want: ['get', undefined, 'default'] },
    { line: 'PUT /api/v1/namespaces/default/finalize', want: ['finalize', undefined, 'default'] },
    { line: 'GET /api/v1/namespaces/default/events', want: ['list', 'default', undefined] },
  ])('takes $line to $want', ({ line, want }) => {
    const { verb, namespace, name } = routed(line).route;
    expect([verb, namespace, name]).toEqual(want);
  });

  test('knows each version of a resource', () => {
    const { definition, version } = routed('GET /apis/coordination.k8s.io/v1alpha2/leasecandidates').route;
    expect([definition.kind, version.version]).toEqual(['LeaseCandidate', 'v1alpha2']);
  });

  test.each([
    `GET ${root}/foos`,
    `GET ${root}/leasecandidates`,
    'GET /apis/coordination.k8s.io/v9/leases',
    `GET ${root}/namespaces/default/foos/a`,
    `GET ${root}/leases/a`,
    `GET ${root}/namespaces//leases/a`,
    `GET ${root}//leases`,
    `GET ${inDefault}/a/status`,
    `GET ${inDefault}/a/b/c/d`,
    'GET /api/v1/namespaces/default/namespaces/x',
    'GET /api/v1/namespaces/default/status',
    'PUT /api/v1/namespaces/default/finalize/x',
    `PUT ${root}/namespaces/default/finalize`,
  ])('finds nothing at %s', (line) => {
    expect(refusal(line).status).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    });
  });

  test.each([
    `POST ${root}/leases`,
    `DELETE ${root}/leases`,
    `DELETE ${root}/namespaces//leases`,
    `PUT ${inDefault}`,
    `PATCH ${inDefault}`,
    'GET /api/v1/namespaces/default/finalize',
    `HEAD ${inDefault}`,
    `OPTIONS ${inDefault}`,
    `POST ${inDefault}/a`,
    `HEAD ${inDefault}/a`,
    'DELETE /api/v1/namespaces',
  ])('does not allow %s', (line) => {
    expect(refusal(line).status).toMatchObject({
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
      details: {},
    });
  });

  test.each([
    { name: '.', want: `Name parameter invalid: ".": may not be '.'` },
    { name: '..', want: `Name parameter invalid: "..": may not be '..'` },
    { name: '%25', want: `Name parameter invalid: "%": may not contain '%'` },
  ])('refuses the name $name', ({ name, want }) => {
    expect(refusal(`GET ${inDefault}/${name}`).status).toMatchObject({
      code: 400,
      reason: 'BadRequest',
      message: want,
    });
  });

  test.each([
    { group: '', want: true },
    { group: 'coordination.k8s.io', want: true },
    { group: 'apps', want: false },
  ])('serves the group "$group": $want', ({ group, want }) => {
    expect(router.hasGroup(group)).toBe(want);
  });
});
