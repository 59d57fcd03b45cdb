import { type CandidateApiVersion, candidateResources } from '../coordination/candidate-sources.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { CandidateSource, LeaseCandidate } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { ApiError } from '../kubernetes/errors.ts';
import {
  Reflector,
  type ReflectorErrorContext,
  type ReflectorEvent,
  type ReflectorObservation,
} from '../kubernetes/reflector.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, sleep } from '../support/clock.ts';
import { NamespacedReflectors } from './namespaced-reflectors.ts';

/** What a {@link CandidateWatch} needs. Callbacks must not throw. */
export interface CandidateWatchParts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly source: CandidateSource;
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly handler: (event: ReflectorEvent<LeaseCandidate>) => void;
  /** A candidate is out of sight, as its source is not served any more. */
  readonly onHidden: (candidate: LeaseCandidate) => void;
  /** All candidates are known, of this source and in all namespaces. */
  readonly onSynced: (apiVersion: CandidateApiVersion) => void;
  /** No version is served: told once, each time that it comes to be so. */
  readonly onNotServed: () => void;
  /** What was watched, and known, is served no more. */
  readonly onGone: (apiVersion: CandidateApiVersion) => void;
  /** What `knows` and `isClosed` say may have changed. */
  readonly onSighted: () => void;
  readonly onDiscoveryError: (error: unknown) => void;
  readonly onError: (error: unknown, context: ReflectorErrorContext) => void;
  readonly observe: (observation: ReflectorObservation) => void;
}

/** How often to look whether the API is served by now, in milliseconds. */
const DISCOVERY_INTERVAL_MS = 10_000;
const BACKOFF = { initialMs: 100, maxMs: DISCOVERY_INTERVAL_MS, resetAfterMs: DISCOVERY_INTERVAL_MS };

/**
 * Watches the LeaseCandidates of one source in the newest version that the server has, found by discovery at the start
 * and again whenever a watch says that the resource has gone (rule 11).
 */
export class CandidateWatch {
  readonly #parts: CandidateWatchParts;
  readonly #stopping = new AbortController();
  /** Between a version that turned out to be gone and the next look. */
  readonly #backoff: Backoff;
  #running: Promise<void> | undefined;
  /** Undefined while no version is served. */
  #watched: { apiVersion: CandidateApiVersion; reflectors: NamespacedReflectors<LeaseCandidate> } | undefined;
  #isNotServed = false;
  /** What was watched is served no more, and it is not known yet whether another version is. */
  #isGone = false;
  /** The namespaces in which this process may not read them, '' being all. */
  readonly #forbidden = new Set<string>();

  constructor(parts: CandidateWatchParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(BACKOFF, parts.clock);
  }

  get source(): CandidateSource {
    return this.#parts.source;
  }

  /** What is watched; undefined while no version is served. */
  get apiVersion(): CandidateApiVersion | undefined {
    return this.#watched?.apiVersion;
  }

  /** Whether the server has said that it serves no version. */
  get isNotServed(): boolean {
    return this.#isNotServed;
  }

  /** One for each namespace watched; none while no version is served. */
  get reflectors(): readonly Pick<Reflector<LeaseCandidate>, 'lastActivity' | 'unwatchedSince'>[] {
    return this.#watched?.reflectors.all ?? [];
  }

  /** Whether all candidates of `namespace` are known. */
  knows(namespace: string): boolean {
    return this.#watched?.reflectors.knows(namespace) ?? false;
  }

  /** Whether there are no candidates to be known in `namespace`: they are not served, or this process may not read them. */
  isClosed(namespace: string): boolean {
    return this.#isNotServed || this.#isGone || this.#forbidden.has('') || this.#forbidden.has(namespace);
  }

  /** See {@link Reflector.relist}. */
  relist(): void {
    this.#watched?.reflectors.relist();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const apiVersion = await this.#discover();
      if (apiVersion === undefined) {
        await sleep(this.#parts.clock, DISCOVERY_INTERVAL_MS, signal);
        continue;
      }
      await this.#watchUntilGone(apiVersion);
      // Of several servers behind one address, one may list a version that another does not have.
      await sleep(this.#parts.clock, this.#backoff.failed(), signal);
    }
  }

  async #discover(): Promise<CandidateApiVersion | undefined> {
    const { client, source, onDiscoveryError, onNotServed, onSighted } = this.#parts;
    try {
      const apiVersion = await discoverServed(client, candidateResources[source], this.#stopping.signal);
      const isNews = apiVersion === undefined && !this.#isNotServed;
      this.#isNotServed = apiVersion === undefined;
      this.#isGone = false;
      if (isNews) {
        onNotServed();
        onSighted();
      }
      return apiVersion;
    } catch (error) {
      if (!this.#stopping.signal.aborted) onDiscoveryError(error);
      return undefined;
    }
  }

  async #watchUntilGone(apiVersion: CandidateApiVersion): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const { signal } = this.#stopping;
    const end = () => gone.resolve();
    signal.addEventListener('abort', end, { once: true });
    const reflectors = new NamespacedReflectors(this.#parts.namespaces, (namespace) =>
      this.#reflector(apiVersion, namespace, end),
    );
    this.#watched = { apiVersion, reflectors };
    reflectors.start();
    if (signal.aborted) end();
    await gone.promise;
    signal.removeEventListener('abort', end);

    const wasKnown = reflectors.knowAll();
    this.#watched = undefined;
    this.#isGone = true;
    this.#forbidden.clear();
    if (wasKnown && !signal.aborted) this.#parts.onGone(apiVersion);
    await reflectors.stop();
    for (const reflector of reflectors.all)
      for (const candidate of reflector.objects()) this.#parts.onHidden(candidate);
  }

  #reflector(
    apiVersion: CandidateApiVersion,
    namespace: string,
    onNotServed: () => void,
  ): Reflector<LeaseCandidate> {
    const { client, clock, handler, onError, observe, onSynced, onSighted } = this.#parts;
    return new Reflector({
      client,
      clock,
      path: resourcePaths.candidates(apiVersion, namespace),
      decode: decodeLeaseCandidate,
      handler,
      onError: (error, context) => {
        onError(error, context);
        this.#noteRefusal(error, namespace);
      },
      observe,
      onNotServed,
      onSynced: () => {
        this.#forbidden.delete(namespace);
        if (this.#watched?.reflectors.knowAll()) {
          this.#backoff.succeeded();
          onSynced(apiVersion);
        }
        onSighted();
      },
    });
  }

  /** What was read before is known, whatever becomes of the rights. */
  #noteRefusal(error: unknown, namespace: string): void {
    const isForbidden = error instanceof ApiError && error.status === 403;
    if (!isForbidden || this.#forbidden.has(namespace) || this.knows(namespace)) return;
    this.#forbidden.add(namespace);
    this.#parts.onSighted();
  }
}
