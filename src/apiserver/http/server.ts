import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import type { Slices } from '../../support/event-loop.ts';
import type { Access } from '../access/access.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import type { Reply, ResourceRequest } from '../operations/request.ts';
import type { ExchangeResult, Incoming, PathHandler } from './answer.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import { answerResource, answerReview, findReview, reviewGroups } from './endpoints.ts';
import { readBody } from './request-body.ts';
import { createRouter } from './routes.ts';
import { refuseBody, streamSink, writeAnswer, writeChunks, writeStreamHead } from './write-answer.ts';

export interface HttpFrontOptions {
  /** Port 0 selects a free port. */
  readonly listen: ListenAddress;
  /** Certificate and key in PEM. Without them, the server uses plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly resources: readonly ResourceDefinition[];
  readonly access: Access;
  readonly clock: Clock;
  /** The handlers by path. */
  readonly pathHandlers: ReadonlyMap<string, PathHandler>;
  /** Answers one request. An error that is not an ApiError becomes status 500. */
  readonly handle: (request: ResourceRequest) => Reply | Promise<Reply>;
  readonly slices: Slices;
  /** Called after the end of each answer. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Receives unexpected errors. */
  readonly onError?: (error: unknown) => void;
}

/** One answered request. */
export interface RequestLine {
  readonly method: string;
  /** The path without the query. */
  readonly path: string;
  readonly code: number;
  /** Time from the request to the end of the answer. */
  readonly durationMs: number;
  /** Absent if the token is unknown. */
  readonly user?: string;
}

/** A running HTTP server. */
interface HttpFront {
  /** The address with the actual port. */
  readonly address: ListenAddress;
  /** Ends streams and waits for requests in flight. Closes the remaining connections after {@link CLOSE_WITHIN_MS}. */
  close(): Promise<void>;
}

/**
 * Idle time before the server closes a connection. Clients close idle connections earlier, so the server does not close
 * one while a client sends a request.
 */
const IDLE_MS = 95_000;
/** Limit for the request line and the headers together. */
const MAX_HEADER_BYTES = 64 * 1024;
const CLOSE_WITHIN_MS = 5_000;

/** Serves the API over HTTP or HTTPS. @throws {Error} if it cannot listen on the address or use the certificate */
export async function startHttpFront(options: HttpFrontOptions): Promise<HttpFront> {
  const { listen, clock } = options;
  const streams = new Set<ServerResponse>();
  const connections = createConnections();
  const listener = createListener({
    dispatch: createDispatcherOf(options),
    clock,
    connections,
    streams,
    isClosing: () => !server.listening,
    onRequest: options.onRequest,
    onError: options.onError ?? (() => {}),
  });
  const server = createServer(options.tls, listener);
  server.on('clientError', connections.answerMalformed);
  await new Promise<void>((resolve, reject) => {
    const fail = (cause: Error) =>
      reject(new Error(`cannot serve on ${listen.host}:${listen.port}`, { cause }));
    server.once('error', fail);
    server.listen(listen.port, listen.host, () => {
      // Later errors are not handled: they end the process.
      server.off('error', fail);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: { host: listen.host, port },
    close: () =>
      new Promise((resolve) => {
        const cancel = clock.setTimer(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
        server.close(() => {
          cancel();
          resolve();
        });
        for (const stream of streams) stream.end();
      }),
  };
}

function createServer(tls: HttpFrontOptions['tls'], listener: RequestListener): Server {
  const http: ServerOptions = { keepAliveTimeout: IDLE_MS, maxHeaderSize: MAX_HEADER_BYTES };
  return tls ? createHttpsServer({ ...http, ...tls }, listener) : createHttpServer(http, listener);
}

function createDispatcherOf(options: HttpFrontOptions): Dispatcher {
  const { resources, pathHandlers, access, clock, handle, slices, onError = () => {} } = options;
  const router = createRouter(resources);
  return createDispatcher({
    access,
    pathHandlers,
    resource(exchange, path) {
      const review = findReview(path);
      if (review) return answerReview(review, exchange, path);
      const route = router.route(exchange.incoming.method, path, exchange.target.query);
      return answerResource(route, exchange, { handle, slices, clock });
    },
    hasGroup: (group) => router.hasGroup(group) || reviewGroups.has(group),
    onError,
  });
}

interface ListenerParts {
  readonly dispatch: Dispatcher;
  readonly clock: Clock;
  readonly connections: Connections;
  readonly streams: Set<ServerResponse>;
  readonly isClosing: () => boolean;
  readonly onRequest: ((line: RequestLine) => void) | undefined;
  readonly onError: (error: unknown) => void;
}

/** Timeout for sending a long list, as in kube-apiserver. */
const LONGEST_ANSWER_MS = 60_000;

/** Connects node:http to the dispatcher. */
function createListener(parts: ListenerParts): RequestListener {
  const { dispatch, clock, connections, onRequest, onError } = parts;
  return (request, response) => {
    connections.note(request, response);
    keepBodyWhilePaused(request);
    const startedAt = clock.now();
    let user: string | undefined;
    if (onRequest) {
      response.once('close', () => {
        // The client closed the connection before the answer.
        if (!response.headersSent) return;
        const { method = '', url = '' } = request;
        onRequest({
          method,
          path: url.split('?', 1)[0] ?? '',
          code: response.statusCode,
          durationMs: clock.now() - startedAt,
          ...(user !== undefined && { user }),
        });
      });
    }
    const write = (result: ExchangeResult): void => {
      try {
        writeResult(result, request, response, parts);
      } catch (error) {
        onError(error);
        response.destroy();
      }
    };
    const result = dispatch(incomingOf(request), (name) => {
      user = name;
    });
    if (result instanceof Promise) result.then(write, onError);
    else write(result);
  };
}

/**
 * Keeps the body of a request that arrives while the previous answer is being sent. Node pauses the connection then. Over
 * TLS, the parser still gets the rest of the body, rejects it as malformed, and Node closes the connection. With a `data`
 * listener, Node reads the connection as a stream, and the rest is kept.
 */
function keepBodyWhilePaused({ socket }: IncomingMessage): void {
  if (socket.isPaused() && !socket.listeners('data').includes(ignoreData)) socket.on('data', ignoreData);
}

const ignoreData = (): void => {};

function incomingOf(request: IncomingMessage): Incoming {
  const { method = '', url = '', headers } = request;
  return {
    method,
    url,
    header(name) {
      const value = headers[name] ?? '';
      return typeof value === 'string' ? value : value.join(',');
    },
    headerNames: () => Object.keys(headers),
    readBody: () => readBody(request),
  };
}

function writeResult(
  result: ExchangeResult,
  request: IncomingMessage,
  response: ServerResponse,
  { clock, streams, isClosing, onError }: ListenerParts,
): void {
  if (result.kind === 'gone' || response.destroyed) return;
  const head = { isLast: isClosing(), wallTime: clock.wallTime() };
  if (result.kind === 'answer') {
    if (result.answer.code === 413 && !request.complete)
      refuseBody(request, response, result.answer, head, clock);
    else writeAnswer(request, response, result.answer, head);
    return;
  }
  if (result.kind === 'chunks') {
    const cancel = clock.setTimer(() => response.destroy(), LONGEST_ANSWER_MS);
    response.once('close', cancel);
    writeChunks(request, response, result, head, onError);
    return;
  }
  writeStreamHead(request, response, result.headers ?? [], head);
  streams.add(response);
  response.once('close', () => streams.delete(response));
  result.reply.start(streamSink(response));
  if (head.isLast) response.end();
}

/**
 * The latest request of each connection. An answer to malformed input must not interfere with the answer to that request.
 */
interface Connections {
  note(request: IncomingMessage, response: ServerResponse): void;
  /** Answers malformed input with 400, 408 or 431, and closes the connection. */
  answerMalformed(error: NodeJS.ErrnoException, socket: Duplex): void;
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function createConnections(): Connections {
  const latest = new WeakMap<Duplex, { request: IncomingMessage; response: ServerResponse }>();
  return {
    note: (request, response) => {
      latest.set(request.socket, { request, response });
    },
    answerMalformed(error, socket) {
      const { request, response } = latest.get(socket) ?? {};
      const hasEarlyAnswer = request?.complete === false && response?.headersSent === true;
      if (request?.complete && response && !response.writableFinished) {
        // Answer an earlier valid request first.
        response.once('close', () => socket.destroy());
      } else if (!socket.writable || error.code === 'ECONNRESET' || hasEarlyAnswer) {
        socket.destroy();
      } else {
        const status = statuses[error.code ?? ''] ?? '400 Bad Request';
        const type = 'Content-Type: text/plain; charset=utf-8';
        socket.end(`HTTP/1.1 ${status}\r\n${type}\r\nConnection: close\r\n\r\n${status}`);
      }
    },
  };
}
