import { createHash } from 'node:crypto';
import { Agent as HttpAgent, type RequestOptions, request as sendHttp } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import { type Channel, KEEP_ALIVE_DELAY_MS, KEEP_ALIVE_MS, readWhole } from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';
import { Connectors, openUndiciChannel } from './undici-channel.ts';

/** The connections to one server with the same TLS material. */
export interface Connections {
  /** Connections for requests: limited, kept alive and shared. */
  readonly requests: Channel;
  /**
   * Connections for lists and watches. Each list or watch occupies a connection for long, so that it must not take a
   * connection from requests.
   */
  readonly streams: Channel;
}

/** How connections are made. */
export interface ConnectionPoolsOptions {
  /** Maximum connections at a time, for requests. */
  readonly maxConnections: number;
  /** True to save memory at the cost of time. */
  readonly isLean: boolean;
}

/**
 * Keeps one set of connections while the options to connect stay the same. When they change (a rotated CA or client
 * certificate), it opens new connections and closes each old connection after its last call.
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

  /** Throws when the kind of proxy is not supported. */
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

  /** Closes all connections at once, even during calls. No connection may be used after that. */
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

/** Returns a hash, so that no second copy of key material is kept just for the comparison. Buffers hash by their content. */
function fingerprintOf(options: DispatcherOptions): string {
  return createHash('sha256').update(JSON.stringify(options)).digest('base64');
}

/** The options that Node's own modules support: direct connections. */
export type DirectOptions = Extract<DispatcherOptions, { readonly type: 'none' | 'agent' }>;

/**
 * Sends with Node's own modules. They take more time for a request than undici, but need 15 MB less memory, half of it for
 * WebAssembly. They are enough for a program with few requests, and work without WebAssembly.
 */
export function openNodeChannel(options: DirectOptions, maxConnections: number): Channel {
  const settings = {
    keepAlive: true,
    keepAliveMsecs: KEEP_ALIVE_DELAY_MS,
    // Applies to idle connections only.
    timeout: KEEP_ALIVE_MS,
    maxSockets: maxConnections,
  };
  const http = new HttpAgent(settings);
  const https = new HttpsAgent({ ...settings, ...(options.type === 'agent' && options.connect) });
  const agents = [http, https];
  const send: Channel['send'] = (url, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const request: RequestOptions = { method, headers, signal };
      const call = url.startsWith('https:')
        ? sendHttps(url, { ...request, agent: https })
        : sendHttp(url, { ...request, agent: http });
      call.on('response', (answer) => {
        resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer });
      });
      // Once the call is answered, its body fails instead.
      call.on('error', reject);
      call.end(body);
    });
  return {
    send,
    exchange: async (url, request) => readWhole(await send(url, request)),
    retire() {
      for (const agent of agents) {
        agent.maxFreeSockets = 0;
        for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
      }
    },
    cut() {
      for (const agent of agents) agent.destroy();
    },
  };
}

interface Waiting {
  /** Undefined once the request has been aborted. */
  go: (() => void) | undefined;
}

/**
 * Limits the requests in flight. Further requests wait in a queue, first in, first out. An aborted request leaves this
 * queue. undici's own queue would keep it, and would close a connection when its turn came.
 */
export class Turns {
  #free: number;
  /** Functions that abort the background requests in flight, oldest first. */
  readonly #background = new Set<() => void>();
  #line: Waiting[] = [];
  /** The index of the next request in the queue. */
  #next = 0;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** True when a request could start at once, without the end of another request. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /**
   * Waits for a turn. Resolves to the function that ends the turn. Rejects with the reason of `signal` if it aborts before.
   *
   * @param giveWay aborts a background request, when another request waits for its turn
   */
  async take(signal: AbortSignal, giveWay?: () => void): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
    } else {
      this.#abortBackground();
      await this.#wait(signal);
    }
    if (giveWay) this.#background.add(giveWay);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (giveWay) this.#background.delete(giveWay);
      this.#pass();
    };
  }

  /** Aborts one background request for each request that has to wait. The aborted request ends its own turn. */
  #abortBackground(): void {
    const [giveWay] = this.#background;
    if (!giveWay) return;
    this.#background.delete(giveWay);
    giveWay();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.go = undefined;
        reject(signal.reason);
      };
      const waiting: Waiting = {
        go() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#line.push(waiting);
    });
  }

  /** Gives a finished turn to the next request in the queue. */
  #pass(): void {
    for (;;) {
      const next = this.#line[this.#next];
      if (!next) break;
      this.#next++;
      if (this.#next * 2 > this.#line.length) this.#shorten();
      if (next.go) {
        next.go();
        return;
      }
    }
    this.#free++;
  }

  /** Shortens the queue once half of its entries are used up, so that the cost per entry is constant. */
  #shorten(): void {
    this.#line = this.#line.slice(this.#next);
    this.#next = 0;
  }
}
