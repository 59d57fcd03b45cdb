import { createHash } from 'node:crypto';
import type { DispatcherOptions } from '@kubernetes/client-node';
import { Agent, type buildConnector, type Dispatcher, type Pool, ProxyAgent, Socks5ProxyAgent } from 'undici';

/** The connections to one server under one set of TLS material. */
export interface Connections {
  /** For requests: bounded, kept alive and shared. */
  readonly requests: Dispatcher;
  /** For watches, each of which occupies a connection for minutes and so must not take one from requests. */
  readonly streams: Dispatcher;
}

/** Node's options and undici's are the same, but for whether `undefined` may be written out. */
type ConnectorOptions = buildConnector.BuildOptions;

/** How long an idle connection is kept, in milliseconds: less than any usual load balancer or API server keeps it. */
const KEEP_ALIVE_MS = 55_000;

/**
 * Keeps one set of connections for as long as the way to connect stays the same. When it changes (a rotated CA or
 * client certificate), new connections are made and the old ones close once what runs on them has ended.
 */
export class ConnectionPools {
  readonly #maxConnections: number;
  readonly #closing = new Set<Promise<void>>();
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
      const open = openConnections(options, this.#maxConnections);
      if (this.#current) this.#retire(this.#current.open);
      this.#current = { options, fingerprint, open };
    } else {
      this.#current = { ...this.#current, options };
    }
    return this.#current.open;
  }

  /** Waits until everything that runs has ended, on retired connections too. */
  async close(): Promise<void> {
    if (this.#current) this.#retire(this.#current.open);
    this.#current = undefined;
    await Promise.all(this.#closing);
  }

  #retire({ requests, streams }: Connections): void {
    const closed = Promise.allSettled([requests.close(), streams.close()]).then(() => {
      this.#closing.delete(closed);
    });
    this.#closing.add(closed);
  }
}

function openConnections(options: DispatcherOptions, maxConnections: number): Connections {
  return { requests: openDispatcher(options, maxConnections), streams: openDispatcher(options, null) };
}

function openDispatcher(options: DispatcherOptions, connections: number | null): Dispatcher {
  const pool = {
    connections,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Every call has a deadline of its own, and a quiet watch is not a broken one.
    headersTimeout: 0,
    bodyTimeout: 0,
  } satisfies Pool.Options;
  switch (options.type) {
    case 'none':
      return new Agent(pool);
    case 'agent':
      return new Agent({ ...pool, connect: options.connect as ConnectorOptions });
    case 'proxy':
      return new ProxyAgent({
        ...pool,
        uri: options.uri,
        requestTls: options.requestTls as ConnectorOptions,
        connect: options.connect as ConnectorOptions,
      });
    case 'socks':
      return new Socks5ProxyAgent(socks5Uri(options.uri), {
        ...pool,
        requestTls: options.requestTls as ConnectorOptions,
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
