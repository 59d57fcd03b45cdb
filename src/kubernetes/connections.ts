import { createHash } from 'node:crypto';
import { Agent as HttpAgent, type RequestOptions, request as sendHttp } from 'node:http';
import { Agent as HttpsAgent, request as sendHttps } from 'node:https';
import { type Channel, KEEP_ALIVE_DELAY_MS, KEEP_ALIVE_MS, readWhole } from './channel.ts';
import type { DispatcherOptions } from './cluster-config.ts';
import { Connectors, openUndiciChannel } from './undici-channel.ts';

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

/** What Node's own modules can do: to connect directly. */
export type DirectOptions = Extract<DispatcherOptions, { readonly type: 'none' | 'agent' }>;

/**
 * Sends with Node's own modules. They take more time for a request than undici, and 15 MB less memory, half of which is
 * what WebAssembly needs; they are all that a program of few requests needs, and work where there is no WebAssembly.
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
      // Once it is answered, its body fails instead.
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
  /** Undefined once it has given up. */
  go: (() => void) | undefined;
}

/**
 * Lets so many requests run at once. The others wait for their turn, in the order in which they came. A request that gives up
 * has left the line: undici would come to it all the same, and end the connection that it then has for it.
 */
export class Turns {
  #free: number;
  /** Aborts each request in the background that runs, the oldest first. */
  readonly #background = new Set<() => void>();
  #line: Waiting[] = [];
  /** The index of the next request in the line. */
  #next = 0;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Whether a request would have its turn at once, without the end of another. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /**
   * Resolves to what ends the turn, once it has come. Rejects with the reason of `signal` when that aborts before.
   *
   * @param giveWay of a request in the background: aborts it, as another request waits for its turn
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

  /** One for each request that has to wait: it ends its turn by itself. */
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

  /** Hands a turn that is over to the next in line. */
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

  /** Runs once half of the entries are used up, so that the cost per entry is constant. */
  #shorten(): void {
    this.#line = this.#line.slice(this.#next);
    this.#next = 0;
  }
}
