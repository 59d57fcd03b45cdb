import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import nock from 'nock';
import { describe, expect, test } from 'vitest';
import type { ApiCallObservation } from '../../src/kubernetes/client.ts';
import { blockNetwork } from '../support/blocked-network.ts';
import { makeClient, makeKubeConfig } from './make-client.ts';

const server = 'https://api.test:6443';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

blockNetwork();

describe('a request', () => {
  test('asks for JSON, identifies the client and has the query in its path', async () => {
    nock(server, { reqheaders: { accept: 'application/json', 'user-agent': 'test/1.0' } })
      .get(leases)
      .query({ limit: '5', watch: 'false', fieldSelector: 'metadata.name=a' })
      .reply(200, { kind: 'LeaseList' });
    const query = { limit: 5, watch: false, fieldSelector: 'metadata.name=a', continue: undefined };
    await expect(makeClient().request({ method: 'GET', path: leases, query })).resolves.toEqual({
      kind: 'LeaseList',
    });
  });

  test('sends a patch with its content type', async () => {
    nock(server, { reqheaders: { 'content-type': 'application/merge-patch+json' } })
      .patch(`${leases}/a`, { spec: { preferredHolder: 'b' } })
      .reply(200, { kind: 'Lease' });
    const answer = makeClient().request({
      method: 'PATCH',
      path: `${leases}/a`,
      contentType: 'application/merge-patch+json',
      body: { spec: { preferredHolder: 'b' } },
    });
    await expect(answer).resolves.toEqual({ kind: 'Lease' });
  });

  test('keeps the path prefix of a server behind a gateway', async () => {
    nock(server).get('/k8s/clusters/c-1/version').reply(200, { major: '1' });
    const client = makeClient({ kubeConfig: makeKubeConfig({ server: `${server}/k8s/clusters/c-1/` }) });
    await expect(client.request({ method: 'GET', path: '/version' })).resolves.toEqual({ major: '1' });
  });

  test.each([
    { name: 'a token', user: { token: 'secret' }, wantHeaders: { authorization: 'Bearer secret' } },
    {
      name: 'a password',
      user: { username: 'me', password: 'pass' },
      wantHeaders: { authorization: 'Basic bWU6cGFzcw==' },
    },
    {
      name: 'another host’s name',
      user: { token: 'secret', impersonateUser: 'other' },
      wantHeaders: { authorization: 'Bearer secret', 'impersonate-user': 'other' },
    },
    {
      name: 'the token of an exec plugin',
      user: {
        exec: {
          command: process.execPath,
          args: ['-e', 'console.log(JSON.stringify({ status: { token: "from-plugin" } }))'],
        },
      },
      wantHeaders: { authorization: 'Bearer from-plugin' },
    },
  ])('authenticates with $name', async ({ user, wantHeaders }) => {
    nock(server, { reqheaders: wantHeaders }).get('/version').reply(200, {});
    const client = makeClient({ kubeConfig: makeKubeConfig({}, user) });
    await expect(client.request({ method: 'GET', path: '/version' })).resolves.toEqual({});
  });

  test('authenticates with a token file, without the newline at its end', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'token-'));
    const tokenFile = join(directory, 'token');
    writeFileSync(tokenFile, 'mounted\n');
    nock(server, { reqheaders: { authorization: 'Bearer mounted' } })
      .get('/version')
      .reply(200, {});
    const user = { authProvider: { name: 'tokenFile', config: { tokenFile } } };
    const client = makeClient({ kubeConfig: makeKubeConfig({}, user) });
    await expect(client.request({ method: 'GET', path: '/version' })).resolves.toEqual({});
    rmSync(directory, { recursive: true });
  });

  test('sends no credentials to a server without TLS', async () => {
    nock('http://api.test:8001', { badheaders: ['authorization'] })
      .get('/version')
      .reply(200, {});
    const client = makeClient({
      kubeConfig: makeKubeConfig({ server: 'http://api.test:8001' }, { token: 'secret' }),
    });
    await expect(client.request({ method: 'GET', path: '/version' })).resolves.toEqual({});
  });
});

describe('an error', () => {
  test('contains the server’s own words, from a Status', async () => {
    nock(server)
      .put(`${leases}/a`)
      .reply(409, { kind: 'Status', code: 409, reason: 'Conflict', message: 'the object has been modified' });
    await expect(
      makeClient().request({ method: 'PUT', path: `${leases}/a`, body: {} }),
    ).rejects.toMatchObject({
      name: 'ApiError',
      status: 409,
      reason: 'Conflict',
      method: 'PUT',
      path: `${leases}/a`,
      retryAfterMs: undefined,
      message: `PUT ${leases}/a was answered 409 Conflict: the object has been modified`,
    });
  });

  test.each([
    { name: 'the Retry-After header', body: {}, headers: { 'retry-after': '3' }, wantMs: 3000 },
    {
      name: 'the details of the Status',
      body: { details: { retryAfterSeconds: 7 } },
      headers: {},
      wantMs: 7000,
    },
    {
      name: 'the header before the details',
      body: { details: { retryAfterSeconds: 7 } },
      headers: { 'retry-after': '3' },
      wantMs: 3000,
    },
    { name: 'an absurd one', body: {}, headers: { 'retry-after': '86400' }, wantMs: 120_000 },
    {
      name: 'no date',
      body: {},
      headers: { 'retry-after': 'Thu, 01 Jan 2026 00:00:00 GMT' },
      wantMs: undefined,
    },
  ])('contains the retry delay from $name', async ({ body, headers, wantMs }) => {
    nock(server).get(leases).reply(429, body, headers);
    await expect(makeClient().request({ method: 'GET', path: leases })).rejects.toMatchObject({
      status: 429,
      retryAfterMs: wantMs,
    });
  });

  test('has an explanation without a Status, too', async () => {
    nock(server).get(leases).reply(502, '<html>Bad Gateway</html>');
    await expect(makeClient().request({ method: 'GET', path: leases })).rejects.toMatchObject({
      name: 'ApiError',
      status: 502,
      message: `GET ${leases} was answered 502: <html>Bad Gateway</html>`,
    });
  });

  test('follows no redirect', async () => {
    nock(server).get(leases).reply(302, '', { location: 'https://elsewhere.test/' });
    await expect(makeClient().request({ method: 'GET', path: leases })).rejects.toMatchObject({
      status: 302,
    });
  });

  test.each([
    { name: 'no JSON', body: '{"kind":' },
    { name: 'no object', body: '[1]' },
    { name: 'empty', body: '' },
  ])('rejects an answer that is $name', async ({ body }) => {
    nock(server).get(leases).reply(200, body);
    await expect(makeClient().request({ method: 'GET', path: leases })).rejects.toMatchObject({
      name: 'ConnectionError',
      code: 'MALFORMED_ANSWER',
    });
  });

  test.each([
    { what: 'says nothing', args: ['-e', 'process.exit(3)'], want: ' (exit code 3): no error output' },
    { what: 'is killed', args: ['-e', 'process.kill(process.pid, "SIGKILL")'], want: ' (SIGKILL): ' },
    { what: 'says too much', args: ['-e', 'console.error("x".repeat(1e6)); process.exit(1)'], want: 'xxx' },
    {
      what: 'explains itself',
      args: ['-e', 'console.error("login first"); process.exit(1)'],
      want: 'login first',
    },
    { what: 'writes no JSON', args: ['-e', 'console.log("{")'], want: ': the output is not JSON' },
    {
      what: 'writes no credentials',
      args: ['-e', 'console.log("{}")'],
      want: ': the output has no status with credentials',
    },
  ])('names an exec plugin that $what', async ({ args, want }) => {
    const client = makeClient({
      kubeConfig: makeKubeConfig({}, { exec: { command: process.execPath, args } }),
    });
    const error: unknown = await client.request({ method: 'GET', path: '/version' }).catch((each) => each);
    expect(error).toMatchObject({ code: 'CREDENTIALS' });
    const { message } = error as Error;
    expect(message).toContain(`the credential plugin ${process.execPath} failed`);
    expect(message).toContain(want);
    expect(message.length).toBeLessThan(1500);
  });

  test('names a missing exec plugin', async () => {
    const exec = { command: 'no-such-credential-plugin' };
    const client = makeClient({ kubeConfig: makeKubeConfig({}, { exec }) });
    await expect(client.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
      message: expect.stringMatching(/the credential plugin no-such-credential-plugin failed: .*ENOENT/),
    });
  });

  test('does not blame the exec plugin for a CA file that cannot be read', async () => {
    const exec = { command: process.execPath, args: ['-e', ''] };
    const client = makeClient({ kubeConfig: makeKubeConfig({ caFile: '/no/such/ca.crt' }, { exec }) });
    const error: unknown = await client.request({ method: 'GET', path: '/version' }).catch((each) => each);
    expect(error).toMatchObject({ code: 'CREDENTIALS', message: expect.stringContaining('/no/such/ca.crt') });
    expect((error as Error).message).not.toContain('plugin');
  });

  test('describes for each of two calls the exit of its own plugin', async () => {
    const endings = await Promise.all(
      [4, 5].map((code) => {
        const exec = { command: process.execPath, args: ['-e', `process.exit(${code})`] };
        const client = makeClient({ kubeConfig: makeKubeConfig({}, { exec }) });
        return client.request({ method: 'GET', path: '/version' }).catch((error: unknown) => String(error));
      }),
    );
    expect(endings[0]).toContain('exit code 4');
    expect(endings[1]).toContain('exit code 5');
  });

  test('opens no connection for a call whose credentials arrive after it was closed', async () => {
    const exec = { command: process.execPath, args: ['-e', 'console.log(JSON.stringify({ status: {} }))'] };
    const client = makeClient({ kubeConfig: makeKubeConfig({}, { exec }) });
    const rejection = expect(client.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
      code: 'CLIENT_CLOSED',
    });
    await client.close();
    await rejection;
  });

  test('follows for calls after the client was closed', async () => {
    const client = makeClient();
    await client.close();
    await expect(client.request({ method: 'GET', path: '/version' })).rejects.toMatchObject({
      code: 'CLIENT_CLOSED',
    });
  });
});

describe('the observer', () => {
  test('gets verb, resource and status of every call', async () => {
    const calls: ApiCallObservation[] = [];
    const client = makeClient({ observe: (call) => calls.push(call) });
    nock(server)
      .get(leases)
      .reply(200, {})
      .post(leases)
      .reply(201, {})
      .delete(`${leases}/a`)
      .reply(404, {})
      .get(`${leases}?watch=true`)
      .reply(200, '')
      .get('/version')
      .replyWithError('broken');
    await client.request({ method: 'GET', path: leases });
    await client.request({ method: 'POST', path: leases, body: {} });
    await client.request({ method: 'DELETE', path: `${leases}/a` }).catch(() => {});
    for await (const _ of await client.stream({ method: 'GET', path: leases, query: { watch: true } }));
    await client.request({ method: 'GET', path: '/version' }).catch(() => {});
    expect(calls.map(({ verb, resource, status }) => `${verb} ${resource} ${status}`)).toEqual([
      'list leases 200',
      'create leases 201',
      'delete leases 404',
      'watch leases 200',
      'get /version error',
    ]);
  });
});
