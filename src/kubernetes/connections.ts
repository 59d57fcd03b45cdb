import { createHash } from 'node:crypto';

import { Agent, type buildConnector, type Dispatcher, Pool, ProxyAgent, Socks5ProxyAgent } from 'undici';
import type { DispatcherOptions } from './cluster-config.ts';
import { Connectors } from './connectors.ts';

/** The connections to one server under one set of TLS material. */
export interface Connections {
  /** For requests: bounded, kept alive and shared. */
  readonly requests: Dispatcher;
  /** For watches, each of which occupies a connection for minutes and so must not take one from requests. */
  readonly streams: Dispatcher;
}

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
  readonly #connectors = new Connectors();
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
      const open = openConnections(options, this.#maxConnections, this.#connectors);
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
    this.#connectors.cut();
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
  connectors: Connectors,
): Connections {
  return {
    requests: openDispatcher(options, maxConnections, connectors),
    streams: openDispatcher(options, null, connectors),
  };
}

function openDispatcher(
  options: DispatcherOptions,
  connections: number | null,
  connectors: Connectors,
): Dispatcher {
  const pool = {
    connections,
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
        clientFactory: (proxy, given) => new Pool(proxy, { ...given, connect: connectorOf(options.connect) }),
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

/** A hash, so that key material is not kept around once more just to be compared. Buffers hash by their content. */
function fingerprintOf(options: DispatcherOptions): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64');
}
