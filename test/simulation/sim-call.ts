import type { ApiRequest } from '../../src/kubernetes/client.ts';
import { ApiError, ConnectionError } from '../../src/kubernetes/errors.ts';
import type { SimApiServer } from './sim-api-server.ts';
import type { SimFate } from './sim-connection.ts';
import type { SimProcess } from './sim-process.ts';

const DEFAULT_DEADLINE_MS = 10_000;
const NOT_SET = () => {};

/** The parameters of a call, and its callbacks. */
export interface SimCallParts<T> {
  readonly api: SimApiServer;
  readonly process: SimProcess;
  readonly request: ApiRequest;
  readonly fate: SimFate;
  /** Whether only the planned fate determines its duration. */
  readonly isUnhindered: boolean;
  /** Watches have their own connections. They depend on the server only after they have begun. */
  readonly kind: 'request' | 'watch';
  readonly carryOut: (api: SimApiServer, isLate: boolean) => T;
  /** Called when the call has an answer, has failed or was given up. */
  readonly onFinish: (call: SimCall<T>) => void;
  readonly onAnswer: (request: ApiRequest, answer: T) => void;
}

/** A request from its start to its answer, with the deadlines and errors of the real client. */
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

  /** Sends the request. After that, it no longer depends on its sender. */
  send(): void {
    const { process, fate } = this.#parts;
    const { requestMs = 0, againMs } = fate;
    later(process.world, requestMs, () => this.#arrive(againMs === undefined));
    if (againMs !== undefined) later(process.world, requestMs + againMs, () => this.#arrive(true));
  }

  /** Fails the call like a dead connection. */
  reset(): void {
    this.#giveUp('ECONNRESET');
  }

  /** Drops the result without a callback. */
  forget(): void {
    this.#finish();
  }

  /** Gives up the call if its signal has aborted. Returns whether it did. */
  abortIfAsked(): boolean {
    const isAborted = this.#parts.request.signal?.aborted === true;
    if (isAborted) this.#giveUp('ABORTED');
    return isAborted;
  }

  /**
   * Whether it will certainly meet its deadline. Most requests need no timer for a deadline, which saves most timers.
   */
  get #isSurelyAnswered(): boolean {
    const { fate, isUnhindered } = this.#parts;
    const { requestMs = 0, answerMs = 0, outcome, againMs } = fate;
    const isLost = outcome === 'lost' || outcome === 'dropped';
    return isUnhindered && againMs === undefined && !isLost && requestMs + answerMs < this.#deadlineMs / 2;
  }

  /** A process that has died has not given up the request, but has no use for the answer. */
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
    // A request that was given up before it arrived was, in most cases, never sent.
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
