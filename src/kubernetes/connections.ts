import { createHash } from 'node:crypto';
import type { DispatcherOptions } from '@kubernetes/client-node';
import { Agent, buildConnector, type Dispatcher, type Pool, ProxyAgent, Socks5ProxyAgent } from 'undici';

/** The connections to one server under one set of TLS material. */
export interface Connections {
  /** For requests: bounded, kept alive and shared. */
  readonly requests: Dispatcher;
  /** For watches, each of which occupies a connection for minutes and so must not take one from requests. */
  readonly streams: Dispatcher;
}

/** Node's options, which undici hands on; its own types know the signal only for connections without TLS. */
type ConnectorOptions = buildConnector.BuildOptions & { readonly signal: AbortSignal };

/** How long an idle connection is kept, in milliseconds: less than any usual load balancer or API server keeps it. */
const KEEP_ALIVE_MS = 55_000;
/** For a connection to a SOCKS proxy, in milliseconds; undici's own default. */
const SOCKS_TIMEOUT_MS = 5000;

/**
 * Keeps one set of connections for as long as the way to connect stays the same. When it changes (a rotated CA or
 * client certificate), new connections are made and the old ones close once what runs on them has ended.
 */
export class ConnectionPools {
  readonly #maxConnections: number;
  /** Ends every connection, those that are only being made among them, which undici would see through to their end. */
  readonly #cutting = new AbortController();
  #current:
    | { readonly options: DispatcherOptions; readonly fingerprint: string; readonly open: Connections }
    | undefined;

  constructor(maxConnections: number) {
    this.#maxConnections = maxConnections;
  }

  /** Throws when the proxy is of a kind that is not supported. */
  use(options: DispatcherOptions): Connections {
    if (this.#current?.options === options) return this.#current.open;
    const fingerprint = fingerprintOf(options);
    if (this.#current?.fingerprint !== fingerprint) {
      const open = openConnections(options, this.#maxConnections, this.#cutting.signal);
      if (this.#current) this.#retire(this.#current.open);
      this.#current = { options, fingerprint, open };
    } else {
      this.#current = { ...this.#current, options };
    }
    return this.#current.open;
  }

  /** Ends all connections at once, whatever runs on them; none may be used any more. */
  cut(): void {
    if (this.#current) for (const each of dispatchersOf(this.#current.open)) void each.destroy();
    this.#current = undefined;
    this.#cutting.abort();
  }

  #retire(connections: Connections): void {
    for (const each of dispatchersOf(connections)) void each.close();
  }
}

function dispatchersOf({ requests, streams }: Connections): readonly Dispatcher[] {
  return [requests, streams];
}

function openConnections(
  options: DispatcherOptions,
  maxConnections: number,
  signal: AbortSignal,
): Connections {
  return {
    requests: openDispatcher(options, maxConnections, signal),
    streams: openDispatcher(options, null, signal),
  };
}

/** @param signal ends its connections, as Node's sockets have it. */
function openDispatcher(
  options: DispatcherOptions,
  connections: number | null,
  signal: AbortSignal,
): Dispatcher {
  const pool = {
    connections,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Every call has a deadline of its own, and a quiet watch is not a broken one.
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Pool.Options;
  const ending = (connector: object = {}): ConnectorOptions => ({ ...connector, signal });
  switch (options.type) {
    case 'none':
      return new Agent({ ...pool, connect: ending() });
    case 'agent':
      return new Agent({ ...pool, connect: ending(options.connect) });
    case 'proxy':
      return new ProxyAgent({
        ...pool,
        uri: options.uri,
        requestTls: ending(options.requestTls),
        proxyTls: ending(options.connect),
      });
    case 'socks':
      return new Socks5ProxyAgent(socks5Uri(options.uri), {
        ...pool,
        requestTls: ending(options.requestTls),
        connect: buildConnector({ ...ending(), timeout: SOCKS_TIMEOUT_MS }),
      });
  }
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

/** A hash, so that key material is not kept around once more just to be compared. Buffers hash by their content. */
function fingerprintOf(options: DispatcherOptions): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64');
}
