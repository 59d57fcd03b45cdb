import type { IncomingHttpHeaders } from 'node:http';
import { createRequire } from 'node:module';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import {
  type Channel,
  isSuccess,
  KEEP_ALIVE_MS,
  MAX_ERROR_BYTES,
  type OutgoingRequest,
  type WholeAnswer,
} from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';

/** Timeout of a connection to a SOCKS proxy, in milliseconds; undici's default. */
const SOCKS_TIMEOUT_MS = 5000;

/** Sends with undici, which is the fastest, and supports proxies. Throws when the kind of proxy is not supported. */
export function openUndiciChannel(
  options: DispatcherOptions,
  maxConnections: number,
  connectors: Connectors,
): Channel {
  const undici = loadUndici();
  const dispatcher = openDispatcher(undici, options, maxConnections, connectors);
  return {
    exchange: (url, request) => exchange(dispatcher, url, request),
    send: (url, { method, headers, body, signal }) =>
      undici.request(url, {
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: body ?? null,
        dispatcher,
        signal,
      }),
    retire: () => void dispatcher.close(),
    cut: () => void dispatcher.destroy(),
  };
}

function openDispatcher(
  { Agent, Pool: PoolOf, ProxyAgent, Socks5ProxyAgent }: Undici,
  options: DispatcherOptions,
  maxConnections: number,
  connectors: Connectors,
): Dispatcher {
  const pool = {
    connections: Number.isFinite(maxConnections) ? maxConnections : null,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // No timeouts here: every call has its own deadline, and a silent watch is not an error.
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Pool.Options;
  // undici's pools pass this option only to their own connectors.
  const connectorOf = (tls: object) => connectors.make({ allowH2: false, ...tls });
  switch (options.type) {
    case 'none':
      return new Agent({ ...pool, connect: connectorOf({}) });
    case 'agent':
      return new Agent({ ...pool, connect: connectorOf(options.connect) });
    case 'proxy':
      return new ProxyAgent({
        ...pool,
        uri: options.uri,
        requestTls: tlsOf(options.requestTls),
        // Connections through the proxy use the connections to the proxy, and end with them.
        clientFactory: (proxy, given) =>
          new PoolOf(proxy, { ...given, connect: connectorOf(options.connect) }),
      });
    case 'socks':
      return new Socks5ProxyAgent(socks5Uri(options.uri), {
        ...pool,
        requestTls: tlsOf(options.requestTls),
        connect: connectorOf({ timeout: SOCKS_TIMEOUT_MS }),
      });
  }
}

/** Converts Node's options: undici's types do not allow an option with the value undefined. */
function tlsOf(options: object): buildConnector.BuildOptions {
  return { ...options } as buildConnector.BuildOptions;
}

function socks5Uri(uri: string): string {
  const { protocol } = new URL(uri);
  if (protocol === 'socks4:' || protocol === 'socks4a:') {
    throw new Error(
      `the cluster's proxy-url ${protocol}// is not supported: use http://, https:// or socks5://`,
    );
  }
  return uri.replace(/^socks5h:/, 'socks5:');
}

/**
 * Sends a request and collects the answer as it arrives. A body stream, as undici's `request()` creates it, takes up to a
 * third of the time of a short request.
 */
export function exchange(
  dispatcher: Dispatcher,
  url: string,
  request: OutgoingRequest,
): Promise<WholeAnswer> {
  return new Promise((resolve, reject) => {
    const { origin, path } = splitUrl(url);
    const { method, headers, body, signal } = request;
    dispatcher.dispatch(
      {
        origin,
        path,
        method: method as Dispatcher.HttpMethod,
        headers: { ...headers },
        body: body ?? null,
      },
      new Exchange(signal, { resolve, reject }),
    );
  });
}

interface Settling {
  resolve(answer: WholeAnswer): void;
  reject(error: unknown): void;
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #settle: Settling;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #statusCode = 0;
  #headers: IncomingHttpHeaders = {};
  #controller: Dispatcher.DispatchController | undefined;

  constructor(signal: AbortSignal, settle: Settling) {
    this.#signal = signal;
    this.#settle = settle;
    signal.addEventListener('abort', this.#abort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Do not abort through undici: that would close the connection, which has sent nothing yet and serves the next request.
    if (this.#signal.aborted) throw this.#signal.reason;
    this.#controller = controller;
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#statusCode = statusCode;
    this.#headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    if (isSuccess(this.#statusCode) || this.#bytes < MAX_ERROR_BYTES) return;
    this.#answer();
    controller.abort(new Error('the answer is longer than is read of one that says what went wrong'));
  }

  onResponseEnd(): void {
    this.#answer();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#end();
    this.#settle.reject(error);
  }

  #answer(): void {
    this.#end();
    const [first = Buffer.alloc(0), ...others] = this.#chunks;
    const whole = others.length === 0 ? first : Buffer.concat(this.#chunks);
    const text = isSuccess(this.#statusCode) ? whole : whole.subarray(0, MAX_ERROR_BYTES);
    this.#settle.resolve({
      statusCode: this.#statusCode,
      headers: this.#headers,
      text: text.toString('utf8'),
    });
  }

  #end(): void {
    this.#signal.removeEventListener('abort', this.#abort);
  }

  readonly #abort = (): void => this.#controller?.abort(this.#signal.reason);
}

function splitUrl(url: string): { readonly origin: string; readonly path: string } {
  const at = url.indexOf('/', url.indexOf('://') + 3);
  return { origin: url.slice(0, at), path: url.slice(at) };
}

/** Node's options, which undici passes on. undici's types have the signal only for connections without TLS. */
type ConnectorOptions = buildConnector.BuildOptions & { readonly signal: AbortSignal };

/**
 * Creates connections, and can close all of them at once, including connections that are being opened: undici would wait
 * for those.
 */
export class Connectors {
  /** One controller per open connection. A shared signal would keep a reference to each connection for its whole life. */
  readonly #open = new Set<AbortController>();
  #isCut = false;

  make(options: buildConnector.BuildOptions): buildConnector.connector {
    const { buildConnector: build } = loadUndici();
    /** The TLS session that the next handshake resumes. */
    let session: Buffer | undefined;
    return (target, callback) => {
      const ending = new AbortController();
      if (this.#isCut) ending.abort();
      else this.#open.add(ending);
      const own: ConnectorOptions = { ...options, ...(session && { session }), signal: ending.signal };
      build(own)(target, (...outcome) => {
        const [, socket] = outcome;
        if (!socket) this.#open.delete(ending);
        socket?.once('close', () => this.#open.delete(ending));
        // Only TLS sockets emit this event.
        socket?.on('session', (next: Buffer) => {
          session = next;
        });
        callback(...outcome);
      });
    };
  }

  /** Closes all connections, and those that open later. */
  cut(): void {
    this.#isCut = true;
    for (const ending of this.#open) ending.abort();
    this.#open.clear();
  }
}

export type Undici = typeof import('undici');

/** Loads undici on demand: it needs 15 MB. */
export function loadUndici(): Undici {
  return createRequire(import.meta.url)('undici') as Undici;
}
