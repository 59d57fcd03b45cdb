import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { createAccess } from '../../../src/apiserver/access/access.ts';
import { createPathHandlers } from '../../../src/apiserver/discovery/path-handlers.ts';
import { type HttpFrontOptions, startHttpFront } from '../../../src/apiserver/http/server.ts';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import type { ResourceRequest } from '../../../src/apiserver/operations/request.ts';
import { Slices } from '../../../src/support/event-loop.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

export const resources = createResources({ leaseCandidateVersions: ['v1beta1', 'v1alpha2', 'v1alpha1'] });
export const LEASES = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

/** The parts of an answer that tests read. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly bytes: Buffer;
}

/** The request of a test. Default token: the administrator's. */
export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** '' for none. */
  readonly token?: string;
}

export interface Front {
  readonly port: number;
  /** The requests that reached the operations. */
  readonly handled: readonly ResourceRequest[];
  ask(method: string, path: string, asked?: Asked): Promise<Answer>;
  /** A raw connection, destroyed at the end of the test. */
  open(): Socket;
  close(): Promise<void>;
}

/**
 * Starts a front on a free port of the loopback interface, closed at the end of the test. Its default clock stands
 * still: no timeout fires.
 */
export async function makeFront(options: Partial<HttpFrontOptions> = {}): Promise<Front> {
  const clock = options.clock ?? new VirtualClock();
  const handled: ResourceRequest[] = [];
  const handle = options.handle ?? (() => ({ kind: 'object', code: 200, body: { kind: 'Done' } }));
  const front = await startHttpFront({
    listen: { host: '127.0.0.1', port: 0 },
    resources,
    access: createAccess([
      { token: 'admin', user: { name: 'admin', groups: [] }, rules: 'admin' },
      { token: 'reader', user: { name: 'reader', groups: [] }, rules: 'read-only' },
    ]),
    clock,
    pathHandlers: createPathHandlers({ resources, gitVersion: 'v1.36.3' }),
    slices: new Slices(systemClock),
    ...options,
    handle(request) {
      handled.push(request);
      return handle(request);
    },
  });
  const { port } = front.address;
  const sockets: Socket[] = [];
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= front.close();
    return closed;
  };
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await close();
  });
  return {
    port,
    handled,
    ask: (method, path, asked) => ask(port, method, path, asked),
    open() {
      const socket = connect(port, '127.0.0.1');
      // The server may cut the connection because of the test's behaviour.
      socket.on('error', () => {});
      // It does not close before everything was read.
      socket.resume();
      sockets.push(socket);
      return socket;
    },
    close,
  };
}

/** Sends one request on its own connection. */
export function ask(
  port: number,
  method: string,
  path: string,
  { headers = {}, body, token = 'admin' }: Asked = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const authorization = token === '' ? {} : { authorization: `Bearer ${token}` };
    const isChunked = 'transfer-encoding' in headers;
    const length =
      body === undefined || isChunked ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const outgoing = httpRequest({
      host: '127.0.0.1',
      port,
      method,
      path,
      agent: false,
      headers: { 'user-agent': 'test/1', ...authorization, ...length, ...headers },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('end', () => {
        const bytes = Buffer.concat(chunks);
        resolve({
          code: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text: bytes.toString('utf8'),
          bytes,
        });
      });
    });
    outgoing.end(body);
  });
}
