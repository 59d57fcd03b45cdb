import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { PauseGate } from './pause-gate.ts';

/**
 * A process of its own, in small: what runs in it has its clock and its client, and can be stopped and continued as by
 * SIGSTOP and SIGCONT, and killed, which leaves everything as it is.
 */
export class SampleProcess implements Clock {
  readonly client: KubernetesClient;
  readonly #clock: Clock;
  readonly #gate = new PauseGate();
  readonly #ending = new AbortController();
  readonly #timers = new Set<() => void>();

  constructor(client: KubernetesClient, clock: Clock) {
    this.#clock = clock;
    this.client = {
      server: client.server,
      request: (request) => this.#outlive(() => client.request(this.#bounded(request))),
      stream: async (request) =>
        this.#chunks(await this.#outlive(() => client.stream(this.#bounded(request)))),
      close: (graceMs) => client.close(graceMs),
    };
  }

  get isPaused(): boolean {
    return this.#gate.isPaused;
  }

  now(): Instant {
    return this.#clock.now();
  }

  wallTime(): bigint {
    return this.#clock.wallTime();
  }

  random(): number {
    return this.#clock.random();
  }

  setTimer(callback: () => void, delayMs: number): () => void {
    const end = () => {
      cancel();
      this.#timers.delete(end);
    };
    const fire = () => {
      if (this.#timers.delete(end)) callback();
    };
    const cancel = this.#clock.setTimer(() => {
      if (this.#gate.isPaused) void this.#gate.passed().then(fire);
      else fire();
    }, delayMs);
    this.#timers.add(end);
    return end;
  }

  pause(): void {
    this.#gate.pause();
  }

  resume(): void {
    this.#gate.resume();
  }

  kill(): void {
    this.#ending.abort();
    for (const end of this.#timers) end();
    this.#gate.resume();
  }

  #bounded(request: ApiRequest): ApiRequest {
    const signals = [this.#ending.signal, request.signal].filter((signal) => signal !== undefined);
    return { ...request, signal: AbortSignal.any(signals) };
  }

  /** Nothing is sent while it is paused, and no answer arrives then, nor after its end. */
  async #outlive<T>(call: () => Promise<T>): Promise<T> {
    await this.#alive();
    try {
      return await call();
    } finally {
      await this.#alive();
    }
  }

  async *#chunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of chunks) {
        await this.#alive();
        yield chunk;
      }
    } finally {
      await this.#alive();
    }
  }

  /** Resolves as soon as it is not paused; never, once it was killed. */
  async #alive(): Promise<void> {
    await this.#gate.passed();
    if (this.#ending.signal.aborted) await new Promise<never>(() => {});
  }
}
