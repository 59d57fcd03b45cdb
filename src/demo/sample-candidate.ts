import type { KubernetesClient } from '../kubernetes/client.ts';
import { Participant } from '../participant/participant.ts';
import type { Term } from '../participant/term.ts';
import { type Clock, sleep } from '../support/clock.ts';
import { untilAborted } from '../support/host.ts';
import type { SampleIdentity, SampleTiming } from './sample-identity.ts';
import { SampleProcess } from './sample-process.ts';

/** What has become of a sample candidate's program. */
export type SampleLife = 'running' | 'paused' | 'crashed' | 'left';

/** What a {@link SampleCandidate} needs. Callbacks must not throw. */
export interface SampleCandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly identity: SampleIdentity;
  readonly timing: SampleTiming;
  readonly onLeading: (isLeading: boolean) => void;
  /** Something goes wrong, and is tried again. */
  readonly onTrouble?: (error: unknown) => void;
}

/**
 * One life of a program that takes part in an election, and does nothing while it leads. It can be paused, as by SIGSTOP,
 * and crash, which leaves everything as it is.
 */
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

  /** Whether it leads, or has not stopped yet. */
  get isLeading(): boolean {
    return this.#end === undefined && this.#isLeading;
  }

  /** Starts the program; resolves once its LeaseCandidate is there and renewed, or it has ended before that. */
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

  /** Ends it at once: nothing is released, nobody is told. */
  crash(): void {
    this.#end ??= 'crashed';
    this.#process.kill();
    this.#ended.resolve();
  }

  /** Ends it in good order: what it holds is released, and its LeaseCandidate goes with it. */
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
