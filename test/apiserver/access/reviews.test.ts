import { describe, expect, test } from 'vitest';
import { type Front, makeFront } from '../http/make-front.ts';

const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const SELF = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const json = { 'content-type': 'application/json' };

async function review(front: Front, path: string, body: unknown, token = 'reader') {
  const headers = json;
  const { code, text } = await front.ask('POST', path, { headers, token, body: JSON.stringify(body) });
  return { code, body: JSON.parse(text) };
}

describe('a review of access', () => {
  const leases = { group: 'coordination.k8s.io', resource: 'leases' };

  test.each([
    { spec: { resourceAttributes: { ...leases, verb: 'get', namespace: 'default' } }, want: true },
    { spec: { resourceAttributes: { ...leases, verb: 'create', namespace: 'default' } }, want: false },
    {
      spec: { resourceAttributes: { ...leases, verb: 'get', subresource: 'status', name: 'a' } },
      want: true,
    },
    { spec: { nonResourceAttributes: { verb: 'get', path: '/anything' } }, want: true },
    { spec: { nonResourceAttributes: { verb: 'post', path: '/anything' } }, want: false },
  ])('returns whether a reader may do $spec: $want', async ({ spec, want }) => {
    const front = await makeFront();
    expect(await review(front, `${AUTHORIZATION}/selfsubjectaccessreviews`, { spec })).toEqual({
      code: 201,
      body: {
        kind: 'SelfSubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        metadata: {},
        spec,
        status: { allowed: want },
      },
    });
    expect(front.handled).toEqual([]);
  });

  test.each([
    {
      body: { spec: {} },
      code: 422,
      want: 'exactly one of nonResourceAttributes or resourceAttributes must be',
    },
    {
      body: { spec: { resourceAttributes: {}, nonResourceAttributes: {} } },
      code: 422,
      want: 'cannot be specified in combination with resourceAttributes',
    },
    {
      body: { spec: { resourceAttributes: { verb: 1 } } },
      code: 400,
      want: 'spec.resourceAttributes.verb: expected a string',
    },
    {
      body: { kind: 'Other' },
      code: 400,
      want: 'expected a SelfSubjectAccessReview of authorization.k8s.io/v1',
    },
    {
      body: [],
      code: 400,
      want: 'the body cannot be read: it is not an object',
    },
  ])('is refused if it contains $body', async ({ body, code, want }) => {
    const answer = await review(await makeFront(), `${AUTHORIZATION}/selfsubjectaccessreviews`, body);
    expect([answer.code, answer.body.message]).toEqual([code, expect.stringContaining(want)]);
  });

  test('accepts YAML and protobuf', async () => {
    const front = await makeFront();
    const path = `${AUTHORIZATION}/selfsubjectaccessreviews`;
    const yaml = await front.ask('POST', path, {
      headers: { 'content-type': 'application/yaml' },
      body: 'spec: {nonResourceAttributes: {verb: get, path: /x}}',
    });
    expect(JSON.parse(yaml.text)).toMatchObject({ status: { allowed: true } });
    // spec { nonResourceAttributes { path: "/x" verb: "get" } }
    const protobuf = await front.ask('POST', path, {
      headers: { 'content-type': 'application/vnd.kubernetes.protobuf' },
      body: Buffer.from('6b387300120d120b12090a022f781203676574', 'hex'),
    });
    expect(JSON.parse(protobuf.text)).toMatchObject({
      spec: { nonResourceAttributes: { path: '/x', verb: 'get' } },
      status: { allowed: true },
    });
  });
});

test('a review of oneself returns the user', async () => {
  expect(await review(await makeFront(), SELF, {})).toEqual({
    code: 201,
    body: {
      kind: 'SelfSubjectReview',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: {},
      status: { userInfo: { username: 'reader', groups: ['system:authenticated'] } },
    },
  });
});

test.each([
  { line: `GET ${SELF}`, code: 405 },
  { line: `POST ${SELF}/x`, code: 404 },
  { line: 'POST /apis/authentication.k8s.io/v1/tokenreviews', code: 404 },
  { line: `POST ${AUTHORIZATION}/selfsubjectrulesreviews`, code: 404 },
])('$line is answered with $code', async ({ line, code }) => {
  const [method = '', path = ''] = line.split(' ');
  expect((await (await makeFront()).ask(method, path, { headers: json, body: '{}' })).code).toBe(code);
});

test('an anonymous user is refused', async () => {
  expect((await review(await makeFront(), SELF, {}, '')).code).toBe(403);
});
