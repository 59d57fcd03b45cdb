import {
  createServer as createHttpServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ListenAddress } from '../../support/address.ts';
import type { Clock } from '../../support/clock.ts';
import type { Slices } from '../../support/event-loop.ts';
import type { Access } from '../access/access.ts';
import type { ResourceDefinition } from '../kinds/definition.ts';
import type { Reply, ResourceRequest } from '../operations/resource-request.ts';
import { createDispatcher, type Dispatcher } from './dispatcher.ts';
import type { LargeBodies } from './large-bodies.ts';
import { createConnections } from './malformed-requests.ts';
import type { PathHandler } from './path-handler.ts';
import { createListener, type RequestLine } from './request-listener.ts';
import { answerResource } from './resource-endpoint.ts';
import { answerReview, findReview, reviewGroups } from './review-endpoint.ts';
import { createRouter } from './router.ts';

export interface HttpFrontOptions {
  /** Port 0 takes any free one. */
  readonly listen: ListenAddress;
  /** PEM; plain HTTP without. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly resources: readonly ResourceDefinition[];
  readonly access: Access;
  readonly clock: Clock;
  /** What is served under paths of their own, by path. */
  readonly pathHandlers: ReadonlyMap<string, PathHandler>;
  /** Answers one request; what it throws, unless it is an ApiError, becomes a 500. */
  readonly handle: (request: ResourceRequest) => Reply | Promise<Reply>;
  /** Reads and writes what is too large to be read and written while others wait. */
  readonly largeBodies: LargeBodies;
  /** Writes long lists bit by bit. */
  readonly slices: Slices;
  /** Called when a request has been answered, or its stream has ended. */
  readonly onRequest?: (line: RequestLine) => void;
  /** Called with what should never happen. */
  readonly onError?: (error: unknown) => void;
}

/** A server that answers until it is closed. */
export interface HttpFront {
  /** With the port that was taken, if any free one was asked for. */
  readonly address: ListenAddress;
  /** Ends streams, waits for requests under way, and cuts what has not ended after some seconds. */
  close(): Promise<void>;
}

/** Longer than any client keeps an idle connection, so that none is closed just as the next request is sent. */
const IDLE_MS = 95_000;
const MAX_HEADER_BYTES = 1024 * 1024;
const CLOSE_WITHIN_MS = 5_000;

/**
 * Serves the API over HTTP or HTTPS.
 * @throws {Error} that names the address, when it cannot listen there; or when the certificate cannot be used
 */
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
      // From here on an error is uncaught, and ends the process.
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
  const { resources, pathHandlers, access, clock, handle, largeBodies, slices, onError = () => {} } = options;
  const router = createRouter(resources);
  return createDispatcher({
    access,
    pathHandlers,
    resource(exchange, path) {
      const review = findReview(path);
      if (review) return answerReview(review, exchange, path, largeBodies);
      const route = router.route(exchange.incoming.method, path, exchange.target.query);
      return answerResource(route, exchange, { handle, largeBodies, slices, clock });
    },
    hasGroup: (group) => router.hasGroup(group) || reviewGroups.has(group),
    onError,
  });
}
