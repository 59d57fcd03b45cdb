import { createHash } from 'node:crypto';
import type { Channel } from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';
import { Connectors } from './connectors.ts';
import { openNodeChannel } from './node-channel.ts';
import { openUndiciChannel } from './undici-channel.ts';

/** The connections to one server under one set of TLS material. */
export interface Connections {
  /** For requests: bounded, kept alive and shared. */
  readonly requests: Channel;
  /** For lists and watches, each of which occupies a connection for long and so must not take one from requests. */
  readonly streams: Channel;
}

/** How connections are made. */
export interface ConnectionPoolsOptions {
  /** At once, for requests. */
  readonly maxConnections: number;
  /** Whether memory counts for more than time. */
  readonly isLean: boolean;
}

/**
 * Keeps one set of connections for as long as the way to connect stays the same. When it changes (a rotated CA or
 * client certificate), new connections are made and the old ones close once what runs on them has ended.
 */
export class ConnectionPools {
  readonly #options: ConnectionPoolsOptions;
  readonly #connectors = new Connectors();
  #current:
    | { readonly options: DispatcherOptions; readonly fingerprint: string; readonly open: Connections }
    | undefined;

  constructor(options: ConnectionPoolsOptions) {
    this.#options = options;
  }

  /** Throws when the proxy is of a kind that is not supported. */
  use(options: DispatcherOptions): Connections {
    if (this.#current?.options === options) return this.#current.open;
    const fingerprint = fingerprintOf(options);
    if (this.#current?.fingerprint !== fingerprint) {
      const open = openConnections(options, this.#options, this.#connectors);
      if (this.#current) this.#retire(this.#current.open);
      this.#current = { options, fingerprint, open };
    } else {
      this.#current = { ...this.#current, options };
    }
    return this.#current.open;
  }

  /** Ends all connections at once, whatever runs on them; none may be used any more. */
  cut(): void {
    if (this.#current) for (const each of channelsOf(this.#current.open)) each.cut();
    this.#current = undefined;
    this.#connectors.cut();
  }

  #retire(connections: Connections): void {
    for (const each of channelsOf(connections)) each.retire();
  }
}

function channelsOf({ requests, streams }: Connections): readonly Channel[] {
  return [requests, streams];
}

function openConnections(
  options: DispatcherOptions,
  { maxConnections, isLean }: ConnectionPoolsOptions,
  connectors: Connectors,
): Connections {
  const open = (most: number) =>
    isLean && (options.type === 'none' || options.type === 'agent')
      ? openNodeChannel(options, most)
      : openUndiciChannel(options, most, connectors);
  return { requests: open(maxConnections), streams: open(Number.POSITIVE_INFINITY) };
}

/** A hash, so that key material is not kept around once more just to be compared. Buffers hash by their content. */
function fingerprintOf(options: DispatcherOptions): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64');
}
