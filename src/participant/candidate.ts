import { type CandidateApiVersion, CUSTOM_API_VERSION, sourceOf } from '../coordination/candidate-sources.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { type Clock, InterruptibleSleep } from '../support/clock.ts';
import type { CandidateDescription } from './candidate-body.ts';
import { guardedLogger, type ParticipantLogger, silent, TroubleLog } from './participant-log.ts';
import { PublishedCandidate } from './published-candidate.ts';

/** What a {@link Candidate} needs. */
export interface CandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly description: CandidateDescription;
  readonly logger?: ParticipantLogger;
}

/** Where a LeaseCandidate is published: in the first of these that the server has (rule 13). */
const SOURCES: readonly CandidateApiVersion[] = [
  'coordination.k8s.io/v1beta1',
  'coordination.k8s.io/v1alpha2',
  CUSTOM_API_VERSION,
];
/** How often to look whether any version is served by now, and whether a better one is, in milliseconds. */
const UNSERVED_MS = 10_000;
const SERVED_MS = 300_000;

/**
 * A program's LeaseCandidate, wherever the server has LeaseCandidates: published, renewed, answered for, published again when
 * somebody deletes it, and moved when its version of the API goes or a better one comes.
 */
export class Candidate {
  readonly #parts: CandidateParts;
  readonly #logger: ParticipantLogger;
  readonly #sleep: InterruptibleSleep;
  readonly #trouble: TroubleLog;
  readonly #published = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #current: PublishedCandidate | undefined;
  /** Published in another group before; deleted once the current one is there. */
  #former: PublishedCandidate | undefined;
  /** In which it may not be published: rights may be given for one of the groups alone. */
  readonly #refused = new Set<CandidateApiVersion>();
  #isWithdrawn = false;
  readonly #withdrawing: (() => void)[] = [];

  constructor(parts: CandidateParts) {
    this.#parts = parts;
    this.#logger = guardedLogger(parts.logger ?? silent);
    this.#sleep = new InterruptibleSleep(parts.clock);
    this.#trouble = new TroubleLog(this.#logger, 'Cannot find out which LeaseCandidates are served');
  }

  /** Resolves once the LeaseCandidate is there for the first time, and renewed. */
  get published(): Promise<void> {
    return this.#published.promise;
  }

  /** Stands until `signal` aborts; resolves once the LeaseCandidate is deleted. Once only. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Deletes the LeaseCandidate; resolves then. It is not published again before {@link Candidate.stand}. */
  withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    if (!this.#running) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#withdrawing.push(resolve);
    this.#sleep.interrupt();
    return Promise.race([promise, this.#running]);
  }

  /** Publishes the LeaseCandidate, after {@link Candidate.withdraw}. */
  stand(): void {
    this.#isWithdrawn = false;
    for (const resolve of this.#withdrawing.splice(0)) resolve();
    this.#sleep.interrupt();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const wake = () => this.#sleep.interrupt();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      let isKnown = true;
      if (this.#isWithdrawn) await this.#retire();
      else isKnown = await this.#findPlace(signal);
      const lookAgainMs = this.#isWithdrawn
        ? Number.POSITIVE_INFINITY
        : isKnown && this.#current
          ? SERVED_MS
          : UNSERVED_MS;
      if (!signal.aborted) await this.#sleep.until(clock.now() + lookAgainMs);
    }
    signal.removeEventListener('abort', wake);
    await this.#retire();
  }

  /** The best first. */
  get #allowed(): readonly CandidateApiVersion[] {
    return SOURCES.filter((apiVersion) => !this.#refused.has(apiVersion));
  }

  /** Resolves with whether it is known by now which version is the best. */
  async #findPlace(signal: AbortSignal): Promise<boolean> {
    try {
      const apiVersion = (await this.#served(this.#allowed, signal)) ?? (await this.#served(SOURCES, signal));
      if (apiVersion === undefined)
        throw new Error('no version of LeaseCandidate is served: install the CRD');
      this.#trouble.ended();
      if (apiVersion !== this.#current?.apiVersion && !signal.aborted) await this.#moveTo(apiVersion);
      return true;
    } catch (error) {
      if (!signal.aborted) this.#trouble.failed(error);
      return false;
    }
  }

  #served(apiVersions: readonly CandidateApiVersion[], signal: AbortSignal) {
    return discoverServed(this.#parts.client, { resource: 'leasecandidates', apiVersions }, signal);
  }

  async #moveTo(apiVersion: CandidateApiVersion): Promise<void> {
    const { description } = this.#parts;
    const former = this.#current;
    const next = new PublishedCandidate({
      ...this.#parts,
      logger: this.#logger,
      apiVersion,
      onPublished: () => {
        this.#logger.info({ candidate: description.name, apiVersion }, 'Stands as candidate');
        this.#published.resolve();
        void this.#removeFormer();
      },
      onRefused: () => {
        this.#refused.add(apiVersion);
        this.#sleep.interrupt();
      },
      // A better version can have been there before, with a LeaseCandidate of this name: that one counts (rule 13).
      onReconnected: () => {
        if (apiVersion !== this.#allowed[0]) this.#sleep.interrupt();
      },
      onGone: () => this.#lose(next),
    });
    this.#current = next;
    if (former && sourceOf(former.apiVersion) !== sourceOf(apiVersion)) {
      await this.#removeFormer();
      this.#former = former;
    } else {
      // The same object, in another version.
      await former?.stop();
    }
    next.start();
  }

  /** Two are one candidate too many, but none would be worse: a leader without one gives way to any other. */
  async #removeFormer(): Promise<void> {
    const former = this.#former;
    this.#former = undefined;
    await former?.remove();
  }

  #lose(gone: PublishedCandidate): void {
    if (this.#current !== gone) return;
    this.#current = undefined;
    this.#logger.warn({ apiVersion: gone.apiVersion }, 'LeaseCandidates of this version are served no more');
    void gone.stop();
    this.#sleep.interrupt();
  }

  async #retire(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await Promise.all([current?.remove(), this.#removeFormer()]);
    if (this.#isWithdrawn) for (const resolve of this.#withdrawing.splice(0)) resolve();
  }
}
