import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as sendHttp } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { callbackify, isDeepStrictEqual } from 'node:util';
import { createGunzip } from 'node:zlib';
import { ProxyTunnels } from './proxy.ts';

export interface Endpoint {
  /** The URL of the server, without a slash at the end. */
  readonly server: string;
  readonly proxyUrl?: string | undefined;
}

export interface OutgoingRequest {
  readonly method: string;
  /** The path below the server's URL, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly tls: ConnectionOptions;
  /** Aborts the request, or the body of its answer. */
  readonly signal: AbortSignal;
}

/** An answer whose head has arrived. The caller must read or destroy the body to free the connection. */
export interface IncomingAnswer extends Pick<IncomingMessage, 'headers'> {
  readonly statusCode: number;
  /** The decompressed body. An error while the compressed body arrives is also an error of this stream. */
  readonly body: Readable;
}

/**
 * How long the client keeps an idle connection, in milliseconds. Common load balancers and API servers keep it longer,
 * so they do not close a connection just when the client sends a request on it.
 */
export const KEEP_ALIVE_MS = 55_000;
/** Idle time in ms before the first TCP keep-alive probe. Without probes, load balancers may drop an idle watch. */
const KEEP_ALIVE_DELAY_MS = 30_000;

/** Maximum bytes that the client reads of an error answer, to limit memory. Error messages are shorter. */
const MAX_ERROR_BYTES = 1024 * 1024;
/** Maximum size of a chunk of a decompressed body, in bytes: some dozens of list items. */
const PIECE_BYTES = 64 * 1024;

/**
 * Sends requests to one server. Keeps connections open, and opens a new one only if all others are in use. When the TLS
 * material changes (a rotated CA or client certificate), replaces all connections, without aborting requests.
 */
export class Channel {
  readonly #endpoint: Endpoint;
  #connections: Connections | undefined;

  constructor(endpoint: Endpoint) {
    this.#endpoint = endpoint;
  }

  /** Resolves to an answer with any status, even an error. Rejects if the request fails or is aborted before the answer. */
  send({ method, path, headers, body, tls, signal }: OutgoingRequest): Promise<IncomingAnswer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const { agent, target, prefix } = this.#connectionsWith(tls);
      const send: (options: object) => ClientRequest = target.protocol === 'https:' ? sendHttps : sendHttp;
      const call = send({
        ...target,
        method,
        path: prefix + path,
        // Set the length: Node sends none for the body of a DELETE, and servers then ignore the body.
        headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
        agent,
      });
      // Do not use Node's option `signal`: it costs 10 % of the time of a short request. It is not necessary to remove
      // this listener: after the end of the answer, destroy() has no effect.
      signal.addEventListener('abort', () => call.destroy(signal.reason), { once: true });
      call.on('response', (answer) => {
        resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: uncompressed(answer) });
      });
      // After the head of the answer has arrived, reject() has no effect. The stream of the body has its own errors.
      call.on('error', reject);
      call.end(body);
    });
  }

  /** Closes idle and busy connections, but not retired ones. The caller must send no requests afterwards. */
  cut(): void {
    this.#connections?.tunnels?.cut();
    this.#connections?.agent.destroy();
  }

  #connectionsWith(tls: ConnectionOptions): Connections {
    const old = this.#connections;
    if (old?.tls === tls) return old;
    if (old && isDeepStrictEqual(old.tls, tls)) {
      old.tls = tls;
      return old;
    }
    this.#connections = connectionsTo(this.#endpoint, tls);
    if (old) retire(old.agent);
    return this.#connections;
  }
}

type Connections = ReturnType<typeof connectionsTo>;

/** Throws if the protocol of `proxyUrl` is not supported. */
function connectionsTo({ server, proxyUrl }: Endpoint, tls: ConnectionOptions) {
  const url = new URL(server);
  // urlToHttpOptions() removes the brackets of an IPv6 address.
  const hostname = urlToHttpOptions(url).hostname ?? '';
  const settings = {
    keepAlive: true,
    keepAliveMsecs: KEEP_ALIVE_DELAY_MS,
    // This timeout applies only to idle connections.
    timeout: KEEP_ALIVE_MS,
  };
  const agent = url.protocol === 'https:' ? new HttpsAgent({ ...settings, ...tls }) : new HttpAgent(settings);
  // The agent keeps idle connections under this name. Use a short name: by default, Node builds a long name from the CA
  // and the certificate for each request.
  agent.getName = () => server;
  return {
    tls,
    agent,
    tunnels: proxyUrl ? connectThrough(agent, proxyUrl) : undefined,
    target: { protocol: url.protocol, hostname, port: url.port },
    prefix: url.pathname.replace(/\/$/, ''),
  };
}

/** Closes idle connections now, and busy ones after their current call. */
function retire(agent: HttpAgent): void {
  agent.maxFreeSockets = 0;
  for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
}

/** Makes the agent open its connections through the proxy. */
function connectThrough(agent: HttpAgent, proxyUrl: string): ProxyTunnels {
  const tunnels = new ProxyTunnels(proxyUrl);
  const isTls = agent instanceof HttpsAgent;
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    const open = async () => {
      const socket = await tunnels.open(options.host ?? '', Number(options.port));
      try {
        return (isTls && connect({ ...options, socket } as typeof options)) || socket;
      } catch (error) {
        // connect() throws if the key does not match the certificate, for example. No TLS connection owns the socket then.
        socket.destroy();
        throw error;
      }
    };
    callbackify(open)((error, socket) => callback?.(error, socket));
    return undefined;
  };
  return tunnels;
}

/**
 * Returns true for 2xx. A redirect counts as an error: the client does not follow it, because the request could then
 * send credentials to another server.
 */
export function isSuccess(statusCode: number): boolean {
  return statusCode < 300;
}

function uncompressed(answer: IncomingMessage): Readable {
  if (answer.headers['content-encoding'] !== 'gzip') return answer;
  // Ignore the error here, because the reader of the body gets the same error.
  return pipeline(answer, createGunzip({ chunkSize: PIECE_BYTES }), () => {});
}

/** Reads the text of an answer. Closes the connection after {@link MAX_ERROR_BYTES} of an error answer. */
export function readWhole({ statusCode, body }: IncomingAnswer): Promise<string> {
  const maxBytes = isSuccess(statusCode) ? Number.POSITIVE_INFINITY : MAX_ERROR_BYTES;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    body.on('data', (chunk: Uint8Array) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= maxBytes) body.destroy();
    });
    body.on('error', reject);
    // Node emits `close` after the end, after an error, and after destroy().
    body.on('close', () => resolve(Buffer.concat(chunks, Math.min(bytes, maxBytes)).toString('utf8')));
  });
}
