import { describe, expect, test } from 'vitest';
import {
  type AccessRule,
  type Attributes,
  createAccess,
  type Principal,
} from '../../../src/apiserver/access/access.ts';

const rules: readonly AccessRule[] = [
  {
    verbs: ['get', 'list', 'create'],
    groups: ['coordination.k8s.io'],
    resources: ['leases'],
    namespaces: ['default', 'other'],
  },
  { verbs: ['*'], groups: [''], resources: ['namespaces/status'] },
  { verbs: ['delete'], groups: ['*'], resources: ['*'], namespaces: ['*'] },
];
const access = createAccess([
  { token: 'a', user: { name: 'admin', groups: ['system:masters'] }, rules: 'admin' },
  { token: 'r', user: { name: 'reader', groups: [] }, rules: 'read-only' },
  { token: 'd', user: { name: 'dev', groups: ['devs'] }, rules },
]);

function principal(authorization?: string): Principal {
  const found = access.authenticate(authorization);
  if (found === undefined) throw new Error('nobody has this token');
  return found;
}

describe('authentication', () => {
  test.each([
    { authorization: 'Bearer a', want: 'admin' },
    { authorization: 'bearer r', want: 'reader' },
    { authorization: '  Bearer d  ', want: 'dev' },
    { authorization: 'Bearer a ignored', want: 'admin' },
    { authorization: undefined, want: 'system:anonymous' },
    { authorization: '', want: 'system:anonymous' },
    { authorization: 'Bearer', want: 'system:anonymous' },
    { authorization: 'Basic YTpi', want: 'system:anonymous' },
    { authorization: 'Bearer x', want: undefined },
    { authorization: 'Bearer A', want: undefined },
  ])('identifies "$authorization" as $want', ({ authorization, want }) => {
    expect(access.authenticate(authorization)?.user.name).toBe(want);
  });
});

const ADMIN = 'a';
const READER = 'r';
const DEV = 'd';
const NOBODY = '-';
const leases = { kind: 'resource', group: 'coordination.k8s.io', resource: 'leases' } as const;
const inDefault = { ...leases, namespace: 'default' };

describe('authorization', () => {
  test.each<{ wanted: Attributes; want: string }>([
    { wanted: { ...inDefault, verb: 'get', name: 'x' }, want: ADMIN + READER + DEV },
    { wanted: { ...inDefault, verb: 'watch' }, want: ADMIN + READER },
    { wanted: { ...inDefault, verb: 'create' }, want: ADMIN + DEV },
    { wanted: { ...inDefault, verb: 'update', name: 'x' }, want: ADMIN },
    { wanted: { ...inDefault, verb: 'delete', name: 'x' }, want: ADMIN + DEV },
    { wanted: { ...leases, verb: 'list' }, want: ADMIN + READER },
    { wanted: { ...leases, verb: 'delete' }, want: ADMIN },
    { wanted: { ...leases, verb: 'list', namespace: 'other' }, want: ADMIN + READER + DEV },
    { wanted: { ...leases, verb: 'list', namespace: 'third' }, want: ADMIN + READER },
    { wanted: { ...inDefault, verb: 'list', group: 'apps' }, want: ADMIN + READER },
    { wanted: { ...inDefault, verb: 'get', name: 'x', subresource: 'status' }, want: ADMIN + READER },
    {
      wanted: { kind: 'resource', group: '', resource: 'namespaces', subresource: 'status', verb: 'patch' },
      want: ADMIN + DEV,
    },
    { wanted: { kind: 'resource', group: '', resource: 'namespaces', verb: 'patch' }, want: ADMIN },
    {
      wanted: {
        kind: 'resource',
        group: 'authorization.k8s.io',
        resource: 'selfsubjectaccessreviews',
        verb: 'create',
      },
      want: ADMIN + READER + DEV,
    },
    { wanted: { kind: 'path', path: '/livez', verb: 'get' }, want: ADMIN + READER + DEV + NOBODY },
    { wanted: { kind: 'path', path: '/version', verb: 'get' }, want: ADMIN + READER + DEV + NOBODY },
    { wanted: { kind: 'path', path: '/livez', verb: 'head' }, want: ADMIN },
    { wanted: { kind: 'path', path: '/livez/ping', verb: 'get' }, want: ADMIN + READER },
    {
      wanted: { kind: 'path', path: '/apis/coordination.k8s.io/v1', verb: 'get' },
      want: ADMIN + READER + DEV,
    },
    { wanted: { kind: 'path', path: '/openapi/v3', verb: 'get' }, want: ADMIN + READER + DEV },
    { wanted: { kind: 'path', path: '/', verb: 'get' }, want: ADMIN + READER },
    { wanted: { kind: 'path', path: '/api', verb: 'post' }, want: ADMIN },
  ])('$wanted is allowed to $want', ({ wanted, want }) => {
    const who = [ADMIN, READER, DEV, NOBODY].filter((token) =>
      principal(token === NOBODY ? undefined : `Bearer ${token}`).may(wanted),
    );
    expect(who.join('')).toBe(want);
  });
});
