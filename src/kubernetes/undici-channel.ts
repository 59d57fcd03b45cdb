import type { buildConnector, Dispatcher, Pool } from 'undici';
import { type Channel, KEEP_ALIVE_MS } from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';
import type { Connectors } from './connectors.ts';
import { loadUndici, type Undici } from './load-undici.ts';
import { exchange } from './undici-exchange.ts';

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
