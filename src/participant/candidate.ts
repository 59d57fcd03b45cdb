import { type CandidateApiVersion, CUSTOM_API_VERSION, sourceOf } from '../coordination/candidate-sources.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, InterruptibleSleep } from '../support/clock.ts';
import type { CandidateDescription } from './candidate-body.ts';
import { type ParticipantLogger, TroubleLog } from './participant-telemetry.ts';
import { PublishedCandidate } from './published-candidate.ts';

interface CandidateParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly description: CandidateDescription;
  readonly logger: ParticipantLogger;
}

/** In order of preference: a LeaseCandidate is published in the first version that the server has (rule 13). */
const SOURCES: readonly CandidateApiVersion[] = [
  'coordination.k8s.io/v1beta1',
  'coordination.k8s.io/v1alpha2',
  CUSTOM_API_VERSION,
];
/** The delay after a discovery that found no version, in milliseconds. */
const UNSERVED_MS = 10_000;
/**
 * Delay after a failed discovery. Short: a program that becomes a candidate again must not wait long because of one lost
 * connection.
 */
const FAILED_BACKOFF = { initialMs: 50, maxMs: UNSERVED_MS, resetAfterMs: UNSERVED_MS };
/** The delay before a discovery looks for a better version, in milliseconds. */
const SERVED_MS = 300_000;

/**
 * A program's LeaseCandidate, in the best version of the API that the server has. If a better version becomes available,
 * it moves there.
 */
export class Candidate {
  readonly #parts: CandidateParts;
  readonly #sleep: InterruptibleSleep;
  readonly #trouble: TroubleLog;
  readonly #failures: Backoff;
  readonly #published = Promise.withResolvers<void>();
  #running: Promise<void> | undefined;
  #current: PublishedCandidate | undefined;
  /** The LeaseCandidate in the former API group. It is deleted after the current one is published. */
  #former: PublishedCandidate | undefined;
  /** The versions that the program has no permission to use: a Role may allow only one group. */
  readonly #forbidden = new Set<CandidateApiVersion>();
  #isWithdrawn = false;
  readonly #withdrawing: (() => void)[] = [];

  constructor(parts: CandidateParts) {
    const { clock, logger } = parts;
    this.#parts = parts;
    this.#sleep = new InterruptibleSleep(clock);
    this.#failures = new Backoff(FAILED_BACKOFF, clock);
    this.#trouble = new TroubleLog(logger, 'Cannot find out which LeaseCandidates are served');
  }

  /** Resolves when the LeaseCandidate is created, or renewed for the first time. */
  get published(): Promise<void> {
    return this.#published.promise;
  }

  /**
   * Takes part until `signal` aborts. Resolves when the LeaseCandidate is deleted. Later calls return the same promise.
   */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  /** Deletes the LeaseCandidate until the next {@link Candidate.stand}. Resolves when it is deleted. */
  withdraw(): Promise<void> {
    this.#isWithdrawn = true;
    if (!this.#running) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#withdrawing.push(resolve);
    this.#sleep.interrupt();
    return Promise.race([promise, this.#running]);
  }

  /** Publishes the LeaseCandidate again after {@link Candidate.withdraw}. */
  stand(): void {
    this.#isWithdrawn = false;
    this.#resolveWithdrawals();
    this.#sleep.interrupt();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const wake = () => this.#sleep.interrupt();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      let delayMs = Number.POSITIVE_INFINITY;
      if (this.#isWithdrawn) await this.#retire();
      else delayMs = await this.#discover(signal);
      if (!signal.aborted) await this.#sleep.until(clock.now() + delayMs);
    }
    signal.removeEventListener('abort', wake);
    await this.#retire();
  }

  get #allowed(): readonly CandidateApiVersion[] {
    return SOURCES.filter((apiVersion) => !this.#forbidden.has(apiVersion));
  }

  /** Finds the best version and moves the LeaseCandidate there. Resolves to the delay until the next discovery. */
  async #discover(signal: AbortSignal): Promise<number> {
    try {
      const apiVersion = (await this.#served(this.#allowed, signal)) ?? (await this.#served(SOURCES, signal));
      this.#failures.succeeded();
      if (apiVersion === undefined) {
        this.#trouble.failed(new Error('no version of LeaseCandidate is served: install the CRD'));
        return UNSERVED_MS;
      }
      this.#trouble.ended();
      if (apiVersion !== this.#current?.apiVersion && !signal.aborted) await this.#moveTo(apiVersion);
      return SERVED_MS;
    } catch (error) {
      if (!signal.aborted) this.#trouble.failed(error);
      return this.#failures.failed();
    }
  }

  #served(apiVersions: readonly CandidateApiVersion[], signal: AbortSignal) {
    return discoverServed(this.#parts.client, { resource: 'leasecandidates', apiVersions }, signal);
  }

  async #moveTo(apiVersion: CandidateApiVersion): Promise<void> {
    const { description, logger } = this.#parts;
    const former = this.#current;
    const next = new PublishedCandidate({
      ...this.#parts,
      apiVersion,
      onPublished: () => {
        logger.info({ candidate: description.name, apiVersion }, 'Stands as candidate');
        this.#published.resolve();
        void this.#removeFormer();
      },
      onForbidden: () => {
        this.#forbidden.add(apiVersion);
        this.#sleep.interrupt();
      },
      // The server may have a better version now. It may also have an old LeaseCandidate of this name in that
      // version, which would count (rule 13).
      onReconnected: () => {
        if (apiVersion !== this.#allowed[0]) this.#sleep.interrupt();
      },
      onNotServed: () => this.#leave(next),
    });
    this.#current = next;
    if (former && sourceOf(former.apiVersion) !== sourceOf(apiVersion)) {
      await this.#removeFormer();
      this.#former = former;
    } else {
      // Do not delete the former LeaseCandidate: both are versions of the same object.
      await former?.stop();
    }
    next.start();
  }

  /**
   * Deletes the LeaseCandidate of the former group. Call this after the move: two candidates do less harm than none,
   * because a leader without a LeaseCandidate yields to any candidate.
   */
  async #removeFormer(): Promise<void> {
    const former = this.#former;
    this.#former = undefined;
    await former?.remove();
  }

  #leave(gone: PublishedCandidate): void {
    if (this.#current !== gone) return;
    this.#current = undefined;
    this.#parts.logger.warn(
      { apiVersion: gone.apiVersion },
      'The API server no longer serves LeaseCandidates of this version',
    );
    void gone.stop();
    this.#sleep.interrupt();
  }

  async #retire(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await Promise.all([current?.remove(), this.#removeFormer()]);
    if (this.#isWithdrawn) this.#resolveWithdrawals();
  }

  #resolveWithdrawals(): void {
    for (const resolve of this.#withdrawing.splice(0)) resolve();
  }
}
