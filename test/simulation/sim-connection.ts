import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { SimApiServer } from './sim-api-server.ts';
import { SimCall } from './sim-call.ts';
import type { SimProcess } from './sim-process.ts';
import { SimWatch } from './sim-watch.ts';

/** The fate of a request: the latency of request and answer, and whether either is lost. */
export interface SimFate {
  readonly requestMs?: number;
  readonly answerMs?: number;
  /**
   * `lost`: executed, but not answered. `dropped`: not executed. A number: refused with this status; but a write that
   * is answered with 504 is executed, as by a server that gets no timely answer from its storage.
   */
  readonly outcome?: 'lost' | 'dropped' | number;
  /** Whether the request arrives even after its sender gave it up, like data in a network buffer. */
  readonly arrivesLate?: boolean;
  /**
   * The request arrives a second time after this time, in milliseconds. The second answer is used; the first is lost.
   */
  readonly againMs?: number;
}

/** The behaviour of a connection. */
export interface SimConnectionOptions {
  /** Default: all requests arrive and are answered at once. */
  readonly fate?: (request: ApiRequest) => SimFate;
  /** Latency of a watch event, in milliseconds. Default: 0. */
  readonly watchDelayMs?: () => number;
  /** Whether the next event for an object replaces its event in flight. Default: no. */
  readonly coalesces?: () => boolean;
  /** Maximum requests in flight; more requests wait unsent. Default: unlimited. */
  readonly connections?: number;
  /** Called for each executed request whose answer has arrived. */
  readonly onAnswer?: (request: ApiRequest, answer: unknown) => void;
}

const NOT_TOLD = () => {};

function hungUp(): ConnectionError {
  return new ConnectionError('socket hang up', { code: 'ECONNRESET' });
}

/** A process's connection to a simulated server, with the deadlines and errors of the real client. */
export class SimConnection implements KubernetesClient {
  readonly server = 'simulated';
  /** The server for new requests. */
  api: SimApiServer;
  readonly #process: SimProcess;
  readonly #name: string;
  readonly #options: SimConnectionOptions;
  readonly #watches = new Set<SimWatch>();
  /** The calls in flight. */
  readonly #pending = new Set<{ reset(): void; forget(): void }>();
  /** Calls that wait for a free connection. */
  readonly #unsent = new Set<() => void>();
  #freeConnections: number;
  /** While true, watch events wait. When it becomes false again, they arrive in order. */
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

  /** Number of open watches with a reader. */
  get openWatches(): number {
    return [...this.#watches].filter(({ isRead }) => isRead).length;
  }

  /** Whether an event has not arrived yet. */
  get isBehind(): boolean {
    return [...this.#watches].some(({ isBehind }) => isBehind);
  }

  /** Ends all watches and all requests in flight, like a broken connection. */
  breakWatches(): void {
    for (const watch of [...this.#watches]) watch.end(hungUp());
  }

  /** Ends all watches at this server, which goes away. New requests may already go to another server. */
  breakWatchesAt(api: SimApiServer): void {
    for (const watch of [...this.#watches]) if (watch.isAt(api)) watch.end(hungUp());
  }

  /** Fails hanging requests, as when a network recovers and all old connections turn out to be dead. */
  reset(): void {
    this.breakWatches();
    for (const call of [...this.#pending]) call.reset();
  }

  /** Drops all requests in flight: their callers wait for ever. */
  forget(): void {
    for (const call of [...this.#pending]) call.forget();
    for (const watch of this.#watches) watch.forget();
  }

  /** The open watches deliver nothing any more, and their readers do not notice. */
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
