import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as sendHttp } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import { pipeline, type Readable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { createGunzip } from 'node:zlib';
import { ProxyTunnels } from './proxy.ts';

/** How to connect to a server. */
export interface Endpoint {
  /** The URL of the server, without a slash at the end. */
  readonly server: string;
  readonly tls: ConnectionOptions;
  readonly proxyUrl?: string | undefined;
}

/** One complete HTTP request. */
export interface OutgoingRequest {
  readonly method: string;
  /** The path below the server's URL, with the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Aborts the request, or the body of its answer. */
  readonly signal: AbortSignal;
}

/** The head of an answer. The caller must read the whole body, or destroy it. */
export interface IncomingAnswer extends Pick<IncomingMessage, 'headers'> {
  readonly statusCode: number;
  readonly body: Readable;
}

/** One complete HTTP answer. At most {@link MAX_ERROR_BYTES} of an error answer are read. */
export interface WholeAnswer extends Pick<IncomingAnswer, 'statusCode' | 'headers'> {
  readonly text: string;
}

/** How long an idle connection is kept, in milliseconds. Shorter than in common load balancers and API servers. */
export const KEEP_ALIVE_MS = 55_000;

/**
 * Idle time before the first TCP keep-alive probe, in milliseconds, as in client-node: load balancers forget idle
 * connections.
 */
const KEEP_ALIVE_DELAY_MS = 30_000;

/**
 * Maximum bytes of an error answer that are read. Far more than an API server's explanation, but small enough to store
 * many.
 */
const MAX_ERROR_BYTES = 1024 * 1024;

/**
 * Connections to one server with the same TLS material. They are kept alive and shared. There are at most as many
 * connections as simultaneous requests.
 */
export class Channel {
  readonly #agent: HttpAgent;
  readonly #tunnels: ProxyTunnels | undefined;
  readonly #target: { readonly protocol: string; readonly hostname: string; readonly port: string };
  readonly #prefix: string;

  /** Throws if this kind of proxy is not supported. */
  constructor({ server, tls, proxyUrl }: Endpoint) {
    const url = new URL(server);
    // Without the brackets of an IPv6 address.
    const hostname = urlToHttpOptions(url).hostname ?? '';
    this.#target = { protocol: url.protocol, hostname, port: url.port };
    this.#prefix = url.pathname.replace(/\/$/, '');
    const settings = {
      keepAlive: true,
      keepAliveMsecs: KEEP_ALIVE_DELAY_MS,
      // This timeout applies only to idle connections.
      timeout: KEEP_ALIVE_MS,
    };
    this.#agent =
      url.protocol === 'https:' ? new HttpsAgent({ ...settings, ...tls }) : new HttpAgent(settings);
    // Use a short name: Node's own contains the CA and the certificate, and Node would build it for each request.
    this.#agent.getName = () => server;
    if (proxyUrl) this.#tunnels = connectThrough(this.#agent, proxyUrl);
  }

  /** Resolves to any answer. Rejects with Node's error. Redirects are not followed. */
  send({ method, path, headers, body, signal }: OutgoingRequest): Promise<IncomingAnswer> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const send: (options: object) => ClientRequest =
        this.#target.protocol === 'https:' ? sendHttps : sendHttp;
      const call = send({
        ...this.#target,
        method,
        path: this.#prefix + path,
        // Node sends no length for the body of a DELETE. Servers then ignore the body.
        headers: { ...headers, ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }) },
        agent: this.#agent,
      });
      // Do not use Node's option `signal`: it costs 10 % of the time of a short request. If the signal aborts after the
      // answer, destroy() has no effect.
      signal.addEventListener('abort', () => call.destroy(signal.reason), { once: true });
      call.on('response', (answer) => {
        resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer });
      });
      // After the answer, errors go to its body instead.
      call.on('error', reject);
      call.end(body);
    });
  }

  /** Closes each connection after its last call. The caller must send no more requests. */
  retire(): void {
    this.#agent.maxFreeSockets = 0;
    for (const socket of Object.values(this.#agent.freeSockets).flat()) socket?.destroy();
  }

  /** Closes all connections at once, even during calls. The caller must send no more requests. */
  cut(): void {
    this.#tunnels?.cut();
    this.#agent.destroy();
  }
}

/** Makes the agent open its connections through the proxy. */
function connectThrough(agent: HttpAgent, proxyUrl: string): ProxyTunnels {
  const tunnels = new ProxyTunnels(proxyUrl);
  const isTls = agent instanceof HttpsAgent;
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    tunnels.open(options.host ?? '', Number(options.port)).then(
      (socket) => callback?.(null, (isTls && connect({ ...options, socket } as typeof options)) || socket),
      (error: Error) => callback?.(error, undefined as never),
    );
    return undefined;
  };
  return tunnels;
}

/** Returns true for 2xx. Redirects are not followed: they could send credentials to another server. */
export function isSuccess(statusCode: number): boolean {
  return statusCode < 300;
}

/** Size of a decompressed chunk in bytes: some dozens of list items. */
const PIECE_BYTES = 64 * 1024;

/** Returns the answer with a decompressed body. The body fails with the same errors as the original body. */
export function uncompressed(answer: IncomingAnswer): IncomingAnswer {
  if (answer.headers['content-encoding'] !== 'gzip') return answer;
  const body = createGunzip({ chunkSize: PIECE_BYTES });
  // Ignore the error here: the reader of the body gets it.
  pipeline(answer.body, body, () => {});
  return { ...answer, body };
}

/** Reads an answer to its end. Truncates a long error answer and closes its connection. */
export function readWhole({ statusCode, headers, body }: IncomingAnswer): Promise<WholeAnswer> {
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
    body.on('close', () => {
      const text = Buffer.concat(chunks, Math.min(bytes, maxBytes)).toString('utf8');
      resolve({ statusCode, headers, text });
    });
  });
}
