import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ApiError, notFound } from '../../../src/apiserver/errors/api-error.ts';
import { MAX_BODY_BYTES, MAX_YAML_BYTES } from '../../../src/apiserver/http/request-body.ts';
import type { RequestLine } from '../../../src/apiserver/http/server.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { waitFor } from '../../support/virtual-clock.ts';
import { LEASES, makeFront } from './make-front.ts';

const json = { 'content-type': 'application/json' };
const lease = { group: 'coordination.k8s.io', name: 'leases' };

describe('a request for a resource', () => {
  test('reaches the operations with all of its data', async () => {
    const front = await makeFront();
    const body = '{"metadata":{"name":"a"}}';
    const answer = await front.ask('POST', `${LEASES}?fieldManager=m`, {
      body,
      headers: { 'content-type': 'Application/JSON;charset=utf-8', 'user-agent': 'tester/1.0' },
      token: 'admin',
    });
    expect(answer).toMatchObject({ code: 200, text: '{"kind":"Done"}\n' });
    const [request] = front.handled;
    expect(request).toMatchObject({
      verb: 'create',
      namespace: 'default',
      name: undefined,
      user: { name: 'admin', groups: ['system:authenticated'] },
      userAgent: 'tester/1.0',
      contentType: 'application/json',
      representation: { id: 'object' },
    });
    expect(request?.definition.kind).toBe('Lease');
    expect(request?.version.version).toBe('v1');
    expect(request?.query.get('fieldManager')).toBe('m');
    expect(request?.body.toString()).toBe(body);
  });

  test('gets the code, the body and the warnings of the operation', async () => {
    const front = await makeFront({
      handle: ({ warn }) => {
        warn('a');
        warn('b "c"');
        return { kind: 'object', code: 201, body: { kind: 'Lease' } };
      },
    });
    const { code, headers, text } = await front.ask('GET', `${LEASES}/a`, {
      headers: { accept: 'application/yaml' },
    });
    expect({ code, text }).toEqual({ code: 201, text: 'kind: Lease\n' });
    expect(headers).toMatchObject({
      'content-type': 'application/yaml',
      'cache-control': 'no-cache, private',
      'audit-id': expect.stringMatching(/^[-0-9a-f]{36}$/),
      warning: '299 - "a", 299 - "b \\"c\\""',
    });
  });

  test.each([
    { method: 'GET', path: '/a', code: 200 },
    { method: 'PUT', path: '/refused', code: 404 },
    { method: 'GET', path: '?watch=1', code: 200 },
  ])(
    '$method $path gets warnings about a deprecated version and about the object',
    async ({ method, path, code }) => {
      const front = await makeFront({
        handle(request) {
          request.warn('on the way');
          if (request.verb === 'watch') return { kind: 'stream', start: (sink) => sink.end() };
          if (request.name === 'refused') throw notFound(lease, 'refused');
          return { kind: 'object', code: 200, body: {} };
        },
      });
      const version = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';
      const answer = await front.ask(method, `${version}${path}`);
      expect(answer.code).toBe(code);
      expect(answer.headers['warning']?.split(', 299')).toEqual([
        '299 - "coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+"',
        ' - "on the way"',
      ]);
    },
  );

  test('keeps the id from its client', async () => {
    const front = await makeFront();
    const { headers } = await front.ask('GET', LEASES, { headers: { 'audit-id': 'mine' } });
    expect(headers['audit-id']).toBe('mine');
  });

  test('may have a body for a deletion, and any content type without one', async () => {
    const front = await makeFront();
    const text = { 'content-type': 'text/plain' };
    expect((await front.ask('DELETE', `${LEASES}/a`, { headers: text })).code).toBe(200);
    expect((await front.ask('DELETE', `${LEASES}/a`, { headers: text, body: '{}' })).code).toBe(415);
    expect((await front.ask('DELETE', `${LEASES}/a`, { headers: json, body: '{}' })).code).toBe(200);
    expect(front.handled.map(({ body, contentType }) => [body.toString(), contentType])).toEqual([
      ['', ''],
      ['{}', 'application/json'],
    ]);
  });

  test.each(['GET', 'PUT'])(
    '%s is answered when the operation fails, and the failure is told',
    async (method) => {
      const failures: unknown[] = [];
      const front = await makeFront({
        handle() {
          throw new TypeError('/home/of/objects.sqlite is broken\n    at file.ts:1:1');
        },
        onError: (error) => failures.push(error),
      });
      const { code, text } = await front.ask(method, `${LEASES}/a`);
      expect(code).toBe(500);
      expect(JSON.parse(text)).toEqual({
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: 'Internal error occurred: the log of the server says what',
        reason: 'InternalError',
        details: { causes: [{ message: 'the log of the server says what' }] },
        code: 500,
      });
      expect(failures).toEqual([expect.objectContaining({ message: expect.stringContaining('is broken') })]);
    },
  );
});

describe('a body', () => {
  const largest = Buffer.alloc(MAX_BODY_BYTES, 'x');
  const tooLarge = Buffer.alloc(MAX_BODY_BYTES + 1, 'x');
  const refusal = `${JSON.stringify(
    new ApiError(413, 'RequestEntityTooLarge', 'the body of a request may have at most 32768 bytes').status,
  )}\n`;

  test('of 32 KiB is accepted', async () => {
    const front = await makeFront();
    expect((await front.ask('POST', LEASES, { body: largest })).code).toBe(200);
    expect(front.handled[0]?.body.equals(largest)).toBe(true);
  });

  test('of one byte more is refused', async () => {
    const front = await makeFront();
    expect(await front.ask('POST', LEASES, { body: tooLarge })).toMatchObject({ code: 413, text: refusal });
    expect(front.handled).toEqual([]);
  });

  test('of 4 KiB is accepted in YAML, and one byte more is refused', async () => {
    const front = await makeFront();
    const headers = { 'content-type': 'application/yaml' };
    const send = (bytes: number) => front.ask('POST', LEASES, { headers, body: Buffer.alloc(bytes, 'x') });
    expect((await send(MAX_YAML_BYTES)).code).toBe(200);
    const { code, text } = await send(MAX_YAML_BYTES + 1);
    expect([code, JSON.parse(text).message]).toEqual([413, 'a body in YAML may have at most 4096 bytes']);
  });

  test.each([
    ['with its length', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('of megabytes is not read completely, and its sender gets the answer: %s', async (_, headers) => {
    const front = await makeFront({ clock: systemClock });
    const body = Buffer.alloc(20 * 1024 * 1024, 'x');
    const answer = await front.ask('POST', LEASES, { body, headers });
    expect(answer).toMatchObject({ code: 413, text: refusal, headers: { connection: 'close' } });
  });

  test('of one byte more in chunks is refused, and closes the connection', async () => {
    const front = await makeFront({ clock: systemClock });
    const socket = front.open();
    const head = `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n${tooLarge.length.toString(16)}\r\n`);
    socket.write(tooLarge);
    socket.write('\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n');
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    await once(socket, 'close');
    expect(received).not.toContain('200 OK');
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain(refusal);
  });

  test('in chunks is joined', async () => {
    const front = await makeFront();
    const socket = front.open();
    const head = `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`);
    socket.write('1\r\n \r\n0\r\n\r\n');
    await once(socket, 'data');
    expect(front.handled[0]?.body.toString()).toBe('{} ');
  });

  test('that is incomplete is dropped', async () => {
    const front = await makeFront();
    const socket = front.open();
    socket.end(
      `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\nContent-Length: 10\r\n\r\n{`,
    );
    await once(socket, 'close');
    expect((await front.ask('GET', '/livez')).code).toBe(200);
    expect(front.handled).toEqual([]);
  });
});

describe('an answer', () => {
  const big = { kind: 'List', items: Array.from({ length: 20_000 }, (_, index) => `item ${index}`) };
  const gzip = { 'accept-encoding': 'deflate, gzip' };

  test('that is big is compressed if the client supports it', async () => {
    const front = await makeFront({ handle: () => ({ kind: 'object', code: 200, body: big }) });
    const { headers, bytes } = await front.ask('GET', LEASES, { headers: gzip });
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
    expect(JSON.parse(gunzipSync(bytes).toString())).toEqual(big);
  });

  test('that is small is never compressed', async () => {
    const front = await makeFront();
    expect((await front.ask('GET', LEASES, { headers: gzip })).headers['content-encoding']).toBeUndefined();
  });

  test('is reported, with its user', async () => {
    const lines: RequestLine[] = [];
    const front = await makeFront({ onRequest: (line) => lines.push(line) });
    await front.ask('GET', `${LEASES}/a?pretty=1`);
    await front.ask('GET', LEASES, { token: 'wrong' });
    await front.ask('POST', '/nonsense', { token: '' });
    await waitFor(() => lines.length === 3, 'three lines');
    // The clock stands still.
    const durationMs = 0;
    expect(lines).toEqual([
      { method: 'GET', path: `${LEASES}/a`, code: 200, durationMs, user: 'admin' },
      { method: 'GET', path: LEASES, code: 401, durationMs },
      { method: 'POST', path: '/nonsense', code: 403, durationMs, user: 'system:anonymous' },
    ]);
  });
});

describe('the server', () => {
  test('answers an unknown path in plain text, and an unknown path of a group in a Status', async () => {
    const front = await makeFront();
    const text = { code: 404, text: '404 page not found\n' };
    for (const path of ['/nonsense', '/apis/apps', '/apis/apps/v1/deployments']) {
      expect(await front.ask('GET', path)).toMatchObject(text);
    }
    for (const path of ['/api/v2', '/apis/coordination.k8s.io/v9', '/api/v1/foos']) {
      const { code, text: body } = await front.ask('GET', path);
      expect([code, JSON.parse(body)]).toMatchObject([
        404,
        { kind: 'Status', reason: 'NotFound', details: {} },
      ]);
    }
  });

  test('refuses a path that cannot be decoded', async () => {
    const front = await makeFront();
    expect(await front.ask('GET', '/livez%zz')).toMatchObject({ code: 400, text: '400 Bad Request' });
  });
});

describe('data that is not HTTP', () => {
  test.each([
    { sent: 'garbage\r\n\r\n', want: '400 Bad Request' },
    { sent: 'GET /livez HTTP/1.1\r\nHost : x\r\n\r\n', want: '400 Bad Request' },
    {
      sent: `GET /livez HTTP/1.1\r\nHost: x\r\nA: ${'x'.repeat(64 * 1024)}\r\n\r\n`,
      want: '431 Request Header',
    },
  ])('is answered with $want', async ({ sent, want }) => {
    const front = await makeFront();
    const socket = front.open();
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.write(sent);
    await once(socket, 'close');
    expect(received.split('\r\n', 1)[0]).toContain(`HTTP/1.1 ${want}`);
  });

  test('does not affect the request before it', async () => {
    const front = await makeFront();
    const socket = front.open();
    let received = '';
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.write(`DELETE ${LEASES}/a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n{}`);
    await once(socket, 'close');
    expect(received).toMatch(/^HTTP\/1\.1 200 /);
    expect(received).toContain('{"kind":"Done"}');
  });

  test('in the body of a request closes the connection', async () => {
    const front = await makeFront();
    const socket = front.open();
    const head = `POST ${LEASES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
    socket.write(`${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`);
    await once(socket, 'close');
    expect(front.handled).toEqual([]);
    expect((await front.ask('GET', '/livez')).code).toBe(200);
  });
});

test('an error in listening contains the address', async () => {
  const { port } = await makeFront();
  const listen = { host: '127.0.0.1', port };
  await expect(makeFront({ listen })).rejects.toMatchObject({
    message: `cannot serve on 127.0.0.1:${port}`,
    cause: { code: 'EADDRINUSE' },
  });
});

test('an error after the start of listening ends the process', async () => {
  const servers: Server[] = [];
  const onRequest = (message: unknown) => servers.push((message as { readonly server: Server }).server);
  subscribe('http.server.request.start', onRequest);
  onTestFinished(() => void unsubscribe('http.server.request.start', onRequest));
  const front = await makeFront();
  await front.ask('GET', '/version');
  const error = new Error('accept EMFILE');
  // Node's error event. Without a listener it is an uncaught error.
  expect(() => servers[0]?.emit('error', error)).toThrow(error);
});
