import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { SimApiServer } from './sim-api-server.ts';
import { SimCall } from './sim-call.ts';
import type { SimProcess } from './sim-process.ts';
import { SimWatch } from './sim-watch.ts';

/** What becomes of one request: how long it and its answer travel, and whether either is lost. */
export interface SimFate {
  readonly requestMs?: number;
  readonly answerMs?: number;
  /**
   * `lost`: carried out, but never answered. `dropped`: neither. A number: refused with that status, but for a write that
   * is answered 504: carried out all the same, as by a server that did not hear from its storage in time.
   */
  readonly outcome?: 'lost' | 'dropped' | number;
  /** Whether it arrives even after it was given up, as what waits in a buffer on its way does. */
  readonly arrivesLate?: boolean;
  /** It arrives once more so much later, in milliseconds; this is what is answered, and the first answer is lost. */
  readonly againMs?: number;
}

/** How a connection behaves. */
export interface SimConnectionOptions {
  /** By default all arrive and are answered at once. */
  readonly fate?: (request: ApiRequest) => SimFate;
  /** How long a watch event travels, in milliseconds; by default 0. */
  readonly watchDelayMs?: () => number;
  /** Whether what is on its way about an object is replaced by the next event about it; by default it is not. */
  readonly coalesces?: () => boolean;
  /** How many requests are under way at once; more wait, unsent. By default any number. */
  readonly connections?: number;
  /** Told of each request that was carried out and whose answer has arrived. */
  readonly onAnswer?: (request: ApiRequest, answer: unknown) => void;
}

const NOT_TOLD = () => {};

function hungUp(): ConnectionError {
  return new ConnectionError('socket hang up', { code: 'ECONNRESET' });
}

/** One process's connection to a simulated server, with the real client's deadlines and errors. */
export class SimConnection implements KubernetesClient {
  readonly server = 'simulated';
  /** Where requests go from now on. */
  api: SimApiServer;
  readonly #process: SimProcess;
  readonly #name: string;
  readonly #options: SimConnectionOptions;
  readonly #watches = new Set<SimWatch>();
  /** The calls that are under way. */
  readonly #pending = new Set<{ reset(): void; forget(): void }>();
  /** What waits for a connection. */
  readonly #unsent = new Set<() => void>();
  #freeConnections: number;
  /** While true, no watch event arrives; they come when it is false again, in order. */
  #isHeld = false;

  constructor(api: SimApiServer, process: SimProcess, name: string, options: SimConnectionOptions = {}) {
    this.api = api;
    this.#process = process;
    this.#name = name;
    this.#options = options;
    this.#freeConnections = options.connections ?? Number.POSITIVE_INFINITY;
  }

  request(request: ApiRequest): Promise<JsonObject> {
    return this.#call(request, 'request', (api, isLate) => api.handle(this.#name, request, isLate));
  }

  stream(request: ApiRequest): Promise<AsyncIterable<Uint8Array>> {
    return this.#call(request, 'watch', (api) => {
      const { watchDelayMs: delayMs = () => 0, coalesces } = this.#options;
      const watch = new SimWatch(this.#process, request, { delayMs, ...(coalesces && { coalesces }) });
      watch.isHeld = this.#isHeld;
      try {
        watch.begin(api);
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 410) {
          watch.forget();
          throw error;
        }
        watch.sendError(error);
      }
      this.#watches.add(watch);
      watch.onEnd = () => this.#watches.delete(watch);
      return watch;
    });
  }

  async close(): Promise<void> {
    this.breakWatches();
  }

  /** How many watches are open and read. */
  get openWatches(): number {
    return [...this.#watches].filter(({ isRead }) => isRead).length;
  }

  /** Whether some event has not arrived yet. */
  get isBehind(): boolean {
    return [...this.#watches].some(({ isBehind }) => isBehind);
  }

  /** Ends every watch, what is under way included, as a broken connection does. */
  breakWatches(): void {
    for (const watch of [...this.#watches]) watch.end(hungUp());
  }

  /** Ends every watch at this server, which goes away; requests may go elsewhere by now. */
  breakWatchesAt(api: SimApiServer): void {
    for (const watch of [...this.#watches]) if (watch.isAt(api)) watch.end(hungUp());
  }

  /** What hung is told so, as happens when a network comes back and every connection of before turns out to be dead. */
  reset(): void {
    this.breakWatches();
    for (const call of [...this.#pending]) call.reset();
  }

  /** Nothing comes of what is under way: whoever waits for it waits for ever. */
  forget(): void {
    for (const call of [...this.#pending]) call.forget();
    for (const watch of this.#watches) watch.forget();
  }

  /** Nothing arrives any more over the watches that are open, and nobody is told. */
  silenceWatches(): void {
    for (const watch of this.#watches) watch.silence();
  }

  holdWatches(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const watch of this.#watches) watch.isHeld = isHeld;
  }

  #call<T>(
    request: ApiRequest,
    kind: 'request' | 'watch',
    carryOut: (api: SimApiServer, isLate: boolean) => T,
  ): Promise<T> {
    const { connections, onAnswer = NOT_TOLD } = this.#options;
    const fate = this.#options.fate?.(request) ?? {};
    if (!this.#process.isAlive) return new Promise(() => {});
    let hasConnection = false;
    const call = new SimCall<T>({
      api: this.api,
      process: this.#process,
      request,
      fate,
      isUnhindered: this.api.capacity === undefined && connections === undefined,
      kind,
      carryOut,
      onFinish: (finished) => {
        this.#pending.delete(finished);
        if (hasConnection) this.#releaseConnection();
        else this.#unsent.delete(send);
      },
      onAnswer,
    });
    const send = () => {
      hasConnection = kind === 'request';
      call.send();
    };
    this.#pending.add(call);
    if (call.abortIfAsked()) return call.answer;
    if (kind === 'watch') send();
    else this.#sendWhenFree(send);
    return call.answer;
  }

  #sendWhenFree(send: () => void): void {
    if (this.#freeConnections === 0) {
      this.#unsent.add(send);
      return;
    }
    this.#freeConnections--;
    send();
  }

  #releaseConnection(): void {
    this.#freeConnections++;
    const [next] = this.#unsent;
    if (!next) return;
    this.#unsent.delete(next);
    this.#sendWhenFree(next);
  }
}
