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

/** For a connection to a SOCKS proxy, in milliseconds; undici's own default. */
const SOCKS_TIMEOUT_MS = 5000;

/** Sends with undici: the fastest, and by proxies as well. Throws when the proxy is of a kind that is not supported. */
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
    // Every call has a deadline of its own, and a quiet watch is not a broken one.
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Pool.Options;
  // Undici's pools hand this on only to connectors of their own.
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
        // Connections through the proxy are made over those to it, and end with them.
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

/** Undici's own types forbid what Node's allow: an option that is there and undefined. */
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
 * Sends a request and takes in its answer as it comes. A stream of the body, which undici's `request()` makes, takes as long
 * as a third of all the rest of a short request.
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
    // To abort it would end the connection, which has carried nothing yet and serves the next request.
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

/** Node's options, which undici hands on; its own types know the signal only for connections without TLS. */
type ConnectorOptions = buildConnector.BuildOptions & { readonly signal: AbortSignal };

/**
 * Makes connections, and can end all of them at once, those that are only being made among them, which undici would see
 * through to their end.
 */
export class Connectors {
  /** What ends each of the connections that there are. One signal for all would keep each of them for as long as it lives. */
  readonly #open = new Set<AbortController>();
  #isCut = false;

  /** A connector of undici's. */
  make(options: buildConnector.BuildOptions): buildConnector.connector {
    const { buildConnector: build } = loadUndici();
    /** The next handshake resumes it. */
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
        // Only TLS has them.
        socket?.on('session', (next: Buffer) => {
          session = next;
        });
        callback(...outcome);
      });
    };
  }

  /** Ends all connections, and those to come. */
  cut(): void {
    this.#isCut = true;
    for (const ending of this.#open) ending.abort();
    this.#open.clear();
  }
}

/** What undici exports. */
export type Undici = typeof import('undici');

/** Loaded only where it is used: it needs 15 MB. */
export function loadUndici(): Undici {
  return createRequire(import.meta.url)('undici') as Undici;
}
