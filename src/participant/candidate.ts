import { type CandidateApiVersion, CUSTOM_API_VERSION, sourceOf } from '../coordination/candidate-sources.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { Backoff } from '../support/backoff.ts';
import { InterruptibleSleep } from '../support/clock.ts';
import { createTroubleLog, type TroubleLog } from './participant-telemetry.ts';
import { type CandidateParts, PublishedCandidate } from './published-candidate.ts';

/**
 * The API versions in order of preference. The participant uses the first version that the API server serves and that
 * the program has permission to use (rule 15). If there is none, the participant retries the first served version.
 */
const SOURCES: readonly CandidateApiVersion[] = [
  'coordination.k8s.io/v1beta1',
  'coordination.k8s.io/v1alpha2',
  CUSTOM_API_VERSION,
];
/** Delay before the next discovery if the API server serves none of the versions, in milliseconds. */
const UNSERVED_MS = 10_000;
/**
 * Delay before the next discovery after a failed one. The first delay is short, so that one lost connection hardly
 * delays a program that wants to be a candidate.
 */
const FAILED_BACKOFF = { initialMs: 50, maxMs: UNSERVED_MS, resetAfterMs: UNSERVED_MS };
/** Delay after a discovery that has found a version, in milliseconds. The next discovery looks for a better version. */
const SERVED_MS = 300_000;

/**
 * Publishes the LeaseCandidate of a program in the best available API version. Moves the LeaseCandidate if the best
 * version changes.
 */
export class Candidate {
  readonly #parts: CandidateParts;
  readonly #sleep: InterruptibleSleep;
  readonly #trouble: TroubleLog;
  readonly #failures: Backoff;
  readonly #published = Promise.withResolvers<void>();
  /** Resolves after this process has created the LeaseCandidate, or has renewed an existing one. */
  readonly published: Promise<void> = this.#published.promise;
  #running: Promise<void> | undefined;
  #current: PublishedCandidate | undefined;
  /** The LeaseCandidate in the former API group, if an unfinished move still has to delete it. */
  #former: PublishedCandidate | undefined;
  /** The API versions that the program has no permission to use: a Role may allow only one API group. */
  readonly #forbidden = new Set<CandidateApiVersion>();
  /** Aborts the discovery in flight, so that a withdrawal or a stop does not wait for the answer to the discovery. */
  #discovery = new AbortController();
  /** Set while the candidate is withdrawn. Resolves when the deletion ends or fails, or when `stand` is called. */
  #withdrawal: PromiseWithResolvers<void> | undefined;

  constructor(parts: CandidateParts) {
    this.#parts = parts;
    this.#sleep = new InterruptibleSleep(parts.clock);
    this.#failures = new Backoff(FAILED_BACKOFF, parts.clock);
    this.#trouble = createTroubleLog(parts.logger, 'Cannot find out which LeaseCandidates are served');
  }

  /** Publishes and renews the LeaseCandidate until `signal` aborts, then deletes it. Call this method once. */
  run(signal: AbortSignal): Promise<void> {
    this.#running = this.#run(signal);
    return this.#running;
  }

  /** Deletes the LeaseCandidate, and does not publish it again until {@link Candidate.stand} is called. */
  async withdraw(): Promise<void> {
    this.#withdrawal ??= Promise.withResolvers<void>();
    if (!this.#running) return;
    this.#interrupt();
    await Promise.race([this.#withdrawal.promise, this.#running]);
  }

  /** Publishes the LeaseCandidate again after {@link Candidate.withdraw}. */
  stand(): void {
    this.#withdrawal?.resolve();
    this.#withdrawal = undefined;
    this.#sleep.interrupt();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const wake = () => this.#interrupt();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      let delayMs = Number.POSITIVE_INFINITY;
      if (this.#withdrawal) await this.#retire();
      else delayMs = await this.#discover();
      if (!signal.aborted) await this.#sleep.until(clock.now() + delayMs);
    }
    signal.removeEventListener('abort', wake);
    await this.#retire();
  }

  #interrupt(): void {
    this.#discovery.abort();
    this.#sleep.interrupt();
  }

  get #allowed(): readonly CandidateApiVersion[] {
    return SOURCES.filter((apiVersion) => !this.#forbidden.has(apiVersion));
  }

  /**
   * Finds the best available API version. If this version is not the current one, publishes the LeaseCandidate in it or
   * moves the LeaseCandidate to it. Resolves to the delay until the next discovery, in milliseconds.
   */
  async #discover(): Promise<number> {
    this.#discovery = new AbortController();
    const { signal } = this.#discovery;
    const served = (apiVersions: readonly CandidateApiVersion[]) =>
      discoverServed(this.#parts.client, { resource: 'leasecandidates', apiVersions }, signal);
    try {
      const apiVersion = (await served(this.#allowed)) ?? (await served(SOURCES));
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

  async #moveTo(apiVersion: CandidateApiVersion): Promise<void> {
    const { description, logger } = this.#parts;
    const former = this.#current;
    const next = new PublishedCandidate({
      ...this.#parts,
      apiVersion,
      onPublished: () => {
        logger.info({ candidate: description.name, apiVersion }, 'Stands as candidate');
        this.#published.resolve();
        // After a later move, `next` itself may be `#former`: keep it until the newer LeaseCandidate is published.
        if (this.#current === next) void this.#removeFormer();
      },
      onForbidden: () => {
        this.#forbidden.add(apiVersion);
        this.#sleep.interrupt();
      },
      // Discover again: after a restart, the API server may serve a better version. If an old LeaseCandidate of this
      // name exists in that version, the coordinator may use it, although no program answers its pings (rule 13).
      onReconnected: () => {
        if (apiVersion !== this.#allowed[0]) this.#sleep.interrupt();
      },
      onNotServed: () => {
        if (this.#current !== next) return;
        this.#current = undefined;
        logger.warn({ apiVersion }, 'The API server no longer serves LeaseCandidates of this version');
        void next.stop();
        this.#sleep.interrupt();
      },
    });
    this.#current = next;
    // All versions of an API group show the same object. Do not delete a LeaseCandidate in the group of `next`, because
    // `next` takes it over. `#former` is in this group if the previous move left this group and has not finished.
    const isInGroup = (published: PublishedCandidate) =>
      sourceOf(published.apiVersion) === sourceOf(apiVersion);
    if (this.#former && isInGroup(this.#former)) {
      await this.#former.stop();
      this.#former = undefined;
    }
    if (former && !isInGroup(former)) this.#former = former;
    else await former?.stop();
    next.start();
  }

  /**
   * Deletes the LeaseCandidate in the former API group. In a move, this deletion is the last step: a program with two
   * LeaseCandidates does no harm, but a leader without a LeaseCandidate has to yield to any electable candidate.
   */
  async #removeFormer(): Promise<void> {
    const former = this.#former;
    this.#former = undefined;
    await former?.remove();
  }

  async #retire(): Promise<void> {
    const current = this.#current;
    this.#current = undefined;
    await Promise.all([current?.remove(), this.#removeFormer()]);
    this.#withdrawal?.resolve();
  }
}
