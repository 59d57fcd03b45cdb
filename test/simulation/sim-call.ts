import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { SimApiServer } from './sim-api-server.ts';
import type { SimFate } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';

const DEFAULT_DEADLINE_MS = 10_000;
const NOT_SET = () => {};

/** What a call is, and who is told of its course. */
export interface SimCallParts<T> {
  readonly api: SimApiServer;
  readonly process: SimProcess;
  readonly request: ApiRequest;
  readonly fate: SimFate;
  /** Whether no more than its own fate decides how long it takes. */
  readonly isUnhindered: boolean;
  /** Watches have connections of their own, and are the server's business only once they have begun. */
  readonly kind: 'request' | 'watch';
  readonly carryOut: (api: SimApiServer, isLate: boolean) => T;
  /** Called once it has an answer, has failed or was given up. */
  readonly onFinish: (call: SimCall<T>) => void;
  readonly onAnswer: (request: ApiRequest, answer: T) => void;
}

/** One request on its way, from being made to its answer, with the real client's deadlines and errors. */
export class SimCall<T> {
  readonly answer: Promise<T>;
  readonly #parts: SimCallParts<T>;
  readonly #deadlineMs: number;
  readonly #sentAt: number;
  readonly #resolve: (answer: T) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onAbort: (() => void) | undefined;
  readonly #cancelDeadline: () => void = NOT_SET;
  #isOver = false;

  constructor(parts: SimCallParts<T>) {
    const { process, request } = parts;
    this.#parts = parts;
    this.#deadlineMs = request.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#sentAt = process.world.now();
    ({ promise: this.answer, resolve: this.#resolve, reject: this.#reject } = Promise.withResolvers<T>());
    if (!this.#isSurelyAnswered)
      this.#cancelDeadline = process.setTimer(() => this.#giveUp('DEADLINE_EXCEEDED'), this.#deadlineMs);
    const { signal } = request;
    if (!signal) return;
    this.#onAbort = () => this.#giveUp('ABORTED');
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Sends it. On its way, it no longer depends on who sent it. */
  send(): void {
    const { process, fate } = this.#parts;
    const { requestMs = 0, againMs } = fate;
    later(process.world, requestMs, () => this.#arrive(againMs === undefined));
    if (againMs !== undefined) later(process.world, requestMs + againMs, () => this.#arrive(true));
  }

  /** Makes it fail as a connection does that turns out to be dead. */
  reset(): void {
    this.#giveUp('ECONNRESET');
  }

  /** Nobody is told of it any more. */
  forget(): void {
    this.#finish();
  }

  /** Gives up what its signal has already ended; returns whether it did. */
  abortIfAsked(): boolean {
    const isAborted = this.#parts.request.signal?.aborted === true;
    if (isAborted) this.#giveUp('ABORTED');
    return isAborted;
  }

  /** Whether it is sure that its deadline will be met: most requests need no timer for it, and those are most timers. */
  get #isSurelyAnswered(): boolean {
    const { fate, isUnhindered } = this.#parts;
    const { requestMs = 0, answerMs = 0, outcome, againMs } = fate;
    const isLost = outcome === 'lost' || outcome === 'dropped';
    return isUnhindered && againMs === undefined && !isLost && requestMs + answerMs < this.#deadlineMs / 2;
  }

  /** Who has died meanwhile has not given it up, but would have. */
  get #isLate(): boolean {
    return this.#isOver || this.#parts.process.world.now() > this.#sentAt + this.#deadlineMs;
  }

  #giveUp(code: string): void {
    this.#finish();
    const { method, path } = this.#parts.request;
    this.#reject(new ConnectionError(`${method} ${path}: ${code}`, { code }));
  }

  #finish(): void {
    this.#isOver = true;
    this.#cancelDeadline();
    if (this.#onAbort) this.#parts.request.signal?.removeEventListener('abort', this.#onAbort);
    this.#parts.onFinish(this);
  }

  #arrive(isAnswered: boolean): void {
    const { api, fate, kind } = this.#parts;
    // What was given up before it arrived was, most often, never sent on.
    if ((this.#isOver && !fate.arrivesLate) || fate.outcome === 'dropped') return;
    if (api.isDown) {
      if (!this.#isOver) this.#giveUp('ECONNREFUSED');
    } else if (kind === 'watch') {
      this.#serve(isAnswered);
    } else {
      api.serve(() => this.#serve(isAnswered));
    }
  }

  #serve(isAnswered: boolean): void {
    const { process, fate } = this.#parts;
    const result = settled(() => this.#carryOut());
    if (fate.outcome === 'lost' || !isAnswered) return;
    later(process, fate.answerMs ?? 0, () => this.#answered(result));
  }

  #carryOut(): T {
    const { api, request, fate, carryOut } = this.#parts;
    const { method, path } = request;
    const { outcome } = fate;
    const status = typeof outcome === 'number' ? outcome : api.fault?.(method !== 'GET');
    if (status === undefined) return carryOut(api, this.#isLate);
    if (status === 504 && method !== 'GET') carryOut(api, this.#isLate);
    const retryAfterMs = status === 429 ? 1000 : undefined;
    throw new ApiError({ method, path, status, message: 'simulated', retryAfterMs });
  }

  #answered(result: Settled<T>): void {
    if (this.#isOver) return;
    this.#finish();
    if ('error' in result) {
      this.#reject(result.error);
      return;
    }
    this.#resolve(result.value);
    this.#parts.onAnswer(this.#parts.request, result.value);
  }
}

type Settled<T> = { readonly value: T } | { readonly error: unknown };

function settled<T>(work: () => T): Settled<T> {
  try {
    return { value: work() };
  } catch (error) {
    return { error };
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
