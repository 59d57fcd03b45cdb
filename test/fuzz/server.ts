import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import fc from 'fast-check';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { startApiServer } from '../../src/apiserver/api-server.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import type { FuzzTarget } from './fuzz-target.ts';
import { someName, wildCandidate, wildJson, wildLease, wildObject, wildText } from './wild-values.ts';

interface Request {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

const root = '/apis/coordination.k8s.io';
const collection = fc.constantFrom(
  `${root}/v1/namespaces/default/leases`,
  `${root}/v1beta1/namespaces/default/leasecandidates`,
  `${root}/v1alpha1/namespaces/default/leasecandidates`,
  '/api/v1/namespaces/default/events',
  '/api/v1/namespaces',
);

const place = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(collection, someName).map((parts) => parts.join('/')) },
  { weight: 3, arbitrary: collection },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      `${root}/v1/watch/leases`,
      `${root}/v1/leases`,
      '/openapi/v3',
      '/apis',
      '/',
      '//',
      '/api/',
      '/apis/x/y/z',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(collection, wildText)
      .map(([path, text]) => `${path}/${encodeURIComponent(text.toWellFormed())}`),
  },
);

const parameter = fc.constantFrom(
  'dryRun',
  'fieldManager',
  'fieldValidation',
  'force',
  'limit',
  'continue',
  'resourceVersion',
  'resourceVersionMatch',
  'labelSelector',
  'fieldSelector',
  'timeoutSeconds',
  'watch',
  'allowWatchBookmarks',
  'sendInitialEvents',
  'pretty',
  'propagationPolicy',
  'gracePeriodSeconds',
  'orphanDependents',
  'includeObject',
  'timeout',
);
const setting = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    'true',
    'false',
    'All',
    'Strict',
    'Warn',
    'Ignore',
    'Exact',
    'NotOlderThan',
    'a=b',
    'a in (b,c),!d',
    'metadata.name=a',
    'Background',
    'Orphan',
    '1s',
    '-1',
  ),
  wildText,
);

const jsonPatch = fc.array(
  wildObject({
    op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'),
    path: pointer(),
    from: pointer(),
    value: wildJson,
  }),
  { maxLength: 6 },
);

function pointer(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom(
      '',
      '/',
      '/metadata',
      '/metadata/labels',
      '/metadata/labels/a',
      '/metadata/finalizers/-',
      '/metadata/finalizers/0',
      '/spec',
      '/spec/holderIdentity',
      '/metadata/managedFields',
      '/x/y/z',
      '/__proto__/x',
      '/constructor/prototype',
    ),
    wildText,
  );
}

const directives = wildObject({
  $patch: fc.constantFrom('replace', 'delete', 'merge'),
  $retainKeys: fc.array(wildText, { maxLength: 2 }),
  metadata: wildObject({
    '$setElementOrder/finalizers': fc.array(wildText, { maxLength: 3 }),
    '$deleteFromPrimitiveList/finalizers': fc.array(wildText, { maxLength: 3 }),
    '$setElementOrder/ownerReferences': fc.array(wildJson, { maxLength: 3 }),
    finalizers: fc.array(wildText, { maxLength: 3 }),
    ownerReferences: fc.array(
      wildObject({ uid: wildText, $patch: fc.constantFrom('delete', 'replace', 'merge') }),
      { maxLength: 3 },
    ),
  }),
});

const value = fc.oneof(
  { weight: 4, arbitrary: wildLease },
  { weight: 2, arbitrary: wildCandidate },
  { weight: 1, arbitrary: jsonPatch },
  { weight: 1, arbitrary: directives },
  { weight: 1, arbitrary: wildJson },
);

const deep = fc
  .record({
    open: fc.constantFrom('[', '{"a":', '- ', '? '),
    levels: fc.constantFrom(10, 500, 3000, 20_000),
    isWhole: fc.boolean(),
  })
  .map(({ open, levels, isWhole }) => {
    const close = open === '[' ? ']' : open.startsWith('{') ? '}' : '';
    return `${open.repeat(levels)}1${isWhole ? close.repeat(levels) : ''}`;
  });

const body: fc.Arbitrary<string | Buffer> = fc.oneof(
  { weight: 8, arbitrary: value.map((each) => JSON.stringify(each)) },
  { weight: 2, arbitrary: value.map((each) => stringify(each)) },
  { weight: 1, arbitrary: wildText },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: deep.map((text) => `{"metadata":{"name":"a"},"x":${text}}`) },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.concat([Buffer.from('k8s\0'), bytes])),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '',
      'a: &a [*a]',
      'a: *b',
      '<<: 1',
      '!!binary x',
      '"\\ud800"',
      '{"a":1,"a":2}',
      '%YAML 9.9\n---\na',
    ),
  },
);

const mediaType = fc.constantFrom(
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'text/plain',
  '',
);

const accept = fc.oneof(
  fc.constantFrom(
    'application/json',
    'application/yaml',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
    '*/*',
    '',
  ),
  fc.string({ maxLength: 30 }),
);

const request: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom(
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'PATCH',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'PURGE',
  ),
  path: place,
  query: fc.array(fc.tuple(parameter, setting), { maxLength: 3 }),
  headers: fc.record({ 'content-type': mediaType, accept, 'user-agent': fc.string({ maxLength: 20 }) }),
  body,
});

/** The embedded server, over HTTP: whatever it is asked, it answers, and nothing of its own goes wrong. */
export const serverTarget: FuzzTarget = {
  name: 'apiserver',
  runs: 400,
  async start() {
    const server = await startServer();
    return {
      property: fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 4 }), async (requests) => {
        for (const each of requests) checkAnswer(await server.ask(each));
        server.check();
      }),
      stop: server.stop,
    };
  },
};

/** Its connections: whatever comes in on one, the next is served. */
export const connectionTarget: FuzzTarget = {
  name: 'apiserver connections',
  runs: 60,
  async start() {
    const server = await startServer();
    const line = fc.oneof(
      fc.constantFrom(
        'GET / HTTP/1.1\r\n',
        'GET /livez HTTP/1.1\r\nHost: a\r\n\r\n',
        'Host: a\r\n',
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
        '\r\n',
        'PRI * HTTP/2.0\r\n\r\n',
        `X: ${'x'.repeat(100_000)}\r\n`,
      ),
      fc.string({ unit: 'binary', maxLength: 50 }),
    );
    return {
      property: fc.asyncProperty(fc.array(line, { maxLength: 6 }), async (lines) => {
        await server.send(lines.join(''));
        const answer = await server.ask({ method: 'GET', path: '/livez', query: [], headers: {}, body: '' });
        expect(answer.code).toBe(200);
        server.check();
      }),
      stop: server.stop,
    };
  },
};

interface Answer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
}

function checkAnswer({ code, type, text }: Answer): void {
  expect(code).toBeGreaterThanOrEqual(200);
  expect(text).not.toContain('Internal error occurred');
  if (type === 'application/json' && text !== '') JSON.parse(text);
  if (code >= 400 && type === 'application/json' && text !== '')
    expect(JSON.parse(text)).toMatchObject({ kind: 'Status', code });
}

async function startServer() {
  const errors: unknown[] = [];
  const server = await startApiServer({
    clock: systemClock,
    listen: { host: '127.0.0.1', port: 0 },
    tokens: [{ token: 'fuzz', user: { name: 'fuzz', groups: [] }, rules: 'admin' }],
    onError: (error) => errors.push(error),
  });
  const { port } = server.address;
  const agent = new Agent({ keepAlive: true });
  return {
    ask: (asked: Request) => ask(asked, port, agent),
    send: (text: string) =>
      new Promise<void>((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.end(text));
        socket.resume();
        socket.on('error', () => {});
        socket.once('close', () => resolve());
      }),
    check() {
      expect(errors).toEqual([]);
    },
    async stop() {
      agent.destroy();
      await server.close();
    },
  };
}

function ask(
  { method, path, query, headers, body: sent }: Request,
  port: number,
  agent: Agent,
): Promise<Answer> {
  const search = query
    .map((pair) => pair.map((each) => encodeURIComponent(each.toWellFormed())).join('='))
    .join('&');
  const given = Object.entries(headers).filter(([, each]) => /^[\x20-\x7e]+$/.test(each));
  const all = {
    ...Object.fromEntries(given),
    authorization: 'Bearer fuzz',
    'content-length': Buffer.byteLength(sent),
  };
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, agent, method, path: `${path}?${search}`, headers: all },
      (incoming) => {
        textOf(incoming).then(
          (text) =>
            resolve({ code: incoming.statusCode ?? 0, type: incoming.headers['content-type'] ?? '', text }),
          reject,
        );
      },
    );
    outgoing.once('error', reject);
    outgoing.end(sent);
  });
}

/** All of an answer; of a stream, which has no end, as much as comes at once. */
async function textOf(incoming: IncomingMessage): Promise<string> {
  if (incoming.headers['content-length'] === undefined && incoming.statusCode === 200) {
    incoming.destroy();
    return '';
  }
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
