import type { ApiRequest, KubernetesClient } from '../kubernetes/client.ts';
import type { ElectorTiming } from '../participant/elector-decision.ts';
import { Participant } from '../participant/participant.ts';
import type { Term } from '../participant/term.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import { untilAborted } from '../support/host.ts';

export type SampleLife = 'running' | 'paused' | 'crashed' | 'left';

/** Callbacks must not throw. */
interface SampleCandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly identity: SampleIdentity;
  readonly timing: SampleTiming;
  readonly onLeading: (isLeading: boolean) => void;
  /** Called for an error. The candidate retries. */
  readonly onTrouble?: (error: unknown) => void;
}

/** A program that takes part in an election and does no work. It can be paused, and it can crash. */
export class SampleCandidate {
  readonly identity: SampleIdentity;
  readonly #parts: SampleCandidateParts;
  readonly #process: SampleProcess;
  readonly #participant: Participant;
  readonly #stopping = new AbortController();
  readonly #ended = Promise.withResolvers<void>();
  #end: 'crashed' | 'left' | undefined;
  #isLeading = false;
  #running: Promise<void> | undefined;

  constructor(parts: SampleCandidateParts) {
    const { client, clock, identity, timing, onTrouble } = parts;
    const { leaseName, name, stoppingMs: _, ...asked } = { ...identity, ...timing };
    this.identity = identity;
    this.#parts = parts;
    this.#process = new SampleProcess(client, clock);
    const tell = (fields: { readonly err?: unknown }) => {
      if (this.#end === undefined && fields.err !== undefined) onTrouble?.(fields.err);
    };
    this.#participant = new Participant(
      {
        ...asked,
        lease: leaseName,
        identity: name,
        client: this.#process.client,
        clock: this.#process,
        logger: { debug() {}, info() {}, warn: tell, error: tell },
      },
      (term) => this.#lead(term),
    );
  }

  get life(): SampleLife {
    return this.#end ?? (this.#process.isPaused ? 'paused' : 'running');
  }

  /** True while the program leads, also while it is stopping. */
  get isLeading(): boolean {
    return this.#end === undefined && this.#isLeading;
  }

  /** Starts the program. Resolves when its LeaseCandidate is published and renewed, or the program has ended. */
  async start(): Promise<void> {
    this.#running = this.#participant.run(this.#stopping.signal);
    await Promise.race([this.#participant.published, this.#ended.promise]);
  }

  pause(): void {
    if (this.#end === undefined) this.#process.pause();
  }

  resume(): void {
    this.#process.resume();
  }

  /** Ends the program at once, without a release. */
  crash(): void {
    this.#end ??= 'crashed';
    this.#process.kill();
    this.#ended.resolve();
  }

  /** Stops the program: releases the Lease and deletes its LeaseCandidate. */
  async leave(): Promise<void> {
    this.#end ??= 'left';
    this.#stopping.abort();
    this.#process.resume();
    await this.#running;
    this.#ended.resolve();
  }

  async #lead({ signal }: Term): Promise<void> {
    const { timing, onLeading } = this.#parts;
    this.#isLeading = true;
    onLeading(true);
    await untilAborted(signal);
    await sleep(this.#process, timing.stoppingMs);
    this.#isLeading = false;
    onLeading(false);
  }
}

export interface SampleIdentity {
  readonly namespace: string;
  readonly leaseName: string;
  /** The name of its LeaseCandidate, which is also its holderIdentity. */
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
}

/** The timing of an elector, and the time that the program takes to stop. */
export interface SampleTiming extends ElectorTiming {
  /** Time from the end of leadership until the program has stopped, in milliseconds. */
  readonly stoppingMs: number;
}

/** A simulated process with its own clock and client. It can be paused, as by SIGSTOP, and killed without any cleanup. */
class SampleProcess implements Clock {
  readonly client: KubernetesClient;
  readonly #clock: Clock;
  readonly #ending = new AbortController();
  readonly #timers = new Set<() => void>();
  #pause: PromiseWithResolvers<void> | undefined;

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
    return this.#pause !== undefined;
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
      if (this.#pause) void this.#pause.promise.then(fire);
      else if (this.#timers.delete(end)) callback();
    };
    const cancel = this.#clock.setTimer(fire, delayMs);
    this.#timers.add(end);
    return end;
  }

  pause(): void {
    this.#pause ??= Promise.withResolvers();
  }

  resume(): void {
    this.#pause?.resolve();
    this.#pause = undefined;
  }

  kill(): void {
    this.#ending.abort();
    for (const end of this.#timers) end();
    this.resume();
  }

  #bounded(request: ApiRequest): ApiRequest {
    const signals = [this.#ending.signal, request.signal].filter((signal) => signal !== undefined);
    return { ...request, signal: AbortSignal.any(signals) };
  }

  /**
   * Runs a call of the process. While the process is paused, it sends no request and gets no answer. After the process
   * has ended, the call never settles.
   */
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

  /** Resolves when the process is not paused. Never resolves after the process was killed. */
  async #alive(): Promise<void> {
    while (this.#pause) await this.#pause.promise;
    if (this.#ending.signal.aborted) await new Promise<never>(() => {});
  }
}
