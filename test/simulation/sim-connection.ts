import type { ApiRequest, KubernetesClient } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { JsonObject } from '../../src/support/json.ts';
import type { SimApiServer } from './sim-api-server.ts';
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

const DEFAULT_DEADLINE_MS = 10_000;

/** One process's connection to a simulated server, with the real client's deadlines and errors. */
export class SimConnection implements KubernetesClient {
  readonly server = 'simulated';
  /** Where requests go from now on. */
  api: SimApiServer;
  readonly #process: SimProcess;
  readonly #name: string;
  readonly #options: SimConnectionOptions;
  readonly #watches = new Set<SimWatch>();
  /** Makes each call that is under way fail. */
  readonly #pending = new Set<() => void>();
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
        if (!(error instanceof ApiError) || error.status !== 410) throw error;
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
    for (const watch of [...this.#watches])
      watch.end(new ConnectionError('socket hang up', { code: 'ECONNRESET' }));
  }

  /** What hung is told so, as happens when a network comes back and every connection of before turns out to be dead. */
  reset(): void {
    this.breakWatches();
    for (const fail of [...this.#pending]) fail();
  }

  /** Nothing arrives any more over the watches that are open, and nobody is told. */
  silenceWatches(): void {
    for (const watch of this.#watches) watch.silence();
  }

  holdWatches(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const watch of this.#watches) watch.isHeld = isHeld;
  }

  /** Watches have connections of their own, and are the server's business only once they have begun. */
  #call<T>(
    request: ApiRequest,
    kind: 'request' | 'watch',
    carryOut: (api: SimApiServer, isLate: boolean) => T,
  ): Promise<T> {
    const { signal, deadlineMs = DEFAULT_DEADLINE_MS, method, path } = request;
    const { api } = this;
    const fate = this.#options.fate?.(request) ?? {};
    const { requestMs = 0, answerMs = 0, outcome, arrivesLate = false, againMs } = fate;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const fail = (code: string) => reject(new ConnectionError(`${method} ${path}: ${code}`, { code }));
    if (!this.#process.isAlive) return promise;
    const sentAt = this.#process.world.now();
    let isOver = false;
    let hasConnection = false;
    // Who has died meanwhile has not given it up, but would have.
    const isLate = () => isOver || this.#process.world.now() > sentAt + deadlineMs;
    const giveUp = (code: string) => {
      isOver = true;
      finish();
      fail(code);
    };
    const onAbort = () => giveUp('ABORTED');
    const onReset = () => giveUp('ECONNRESET');
    const cancelDeadline = this.#isAnsweredWithin(fate, deadlineMs)
      ? () => {}
      : this.#process.setTimer(() => giveUp('DEADLINE_EXCEEDED'), deadlineMs);
    const finish = () => {
      cancelDeadline();
      signal?.removeEventListener('abort', onAbort);
      this.#pending.delete(onReset);
      if (hasConnection) this.#releaseConnection();
      else this.#unsent.delete(send);
    };

    const arrive = (isAnswered: boolean) => {
      // What was given up before it arrived was, most often, never sent on.
      if ((isOver && !arrivesLate) || outcome === 'dropped') return;
      if (api.isDown) {
        if (!isOver) giveUp('ECONNREFUSED');
        return;
      }
      if (kind === 'watch') serve(isAnswered);
      else api.serve(() => serve(isAnswered));
    };
    const serve = (isAnswered: boolean) => {
      const answer = settled(() => {
        const status = typeof outcome === 'number' ? outcome : api.fault?.(method !== 'GET');
        if (status === undefined) return carryOut(api, isLate());
        if (status === 504 && method !== 'GET') carryOut(api, isLate());
        const retryAfterMs = status === 429 ? 1000 : undefined;
        throw new ApiError({ method, path, status, message: 'simulated', retryAfterMs });
      });
      if (outcome === 'lost' || !isAnswered) return;
      later(this.#process, answerMs, () => {
        if (isOver) return;
        isOver = true;
        finish();
        try {
          const body = answer();
          resolve(body);
          this.#options.onAnswer?.(request, body);
        } catch (error) {
          reject(error as Error);
        }
      });
    };
    const send = () => {
      hasConnection = kind === 'request';
      // On its way, it no longer depends on who sent it.
      later(this.#process.world, requestMs, () => arrive(againMs === undefined));
      if (againMs !== undefined) later(this.#process.world, requestMs + againMs, () => arrive(true));
    };
    this.#pending.add(onReset);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    else if (kind === 'watch') send();
    else this.#sendWhenFree(send);
    return promise;
  }

  /** Whether it is sure that its deadline will not be met: most requests need no timer for it, and those are most timers. */
  #isAnsweredWithin({ requestMs = 0, answerMs = 0, outcome, againMs }: SimFate, deadlineMs: number): boolean {
    const isHeldUp =
      againMs !== undefined || this.api.capacity !== undefined || this.#options.connections !== undefined;
    const isLost = outcome === 'lost' || outcome === 'dropped';
    return !isHeldUp && !isLost && requestMs + answerMs < deadlineMs / 2;
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

function later(
  clock: { setTimer(callback: () => void, delayMs: number): unknown },
  ms: number,
  run: () => void,
): void {
  if (ms > 0) clock.setTimer(run, ms);
  else run();
}

/** Does `work` now, and answers with its result or error whenever asked. */
function settled<T>(work: () => T): () => T {
  try {
    const result = work();
    return () => result;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
