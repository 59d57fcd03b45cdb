import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import {
  type LeaseCandidateVersion,
  leaseCandidateResource,
} from '../coordination/lease-candidate-version.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import type { LeaseCandidate } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServedVersion } from '../kubernetes/discovery.ts';
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
  /** Empty: all. */
  readonly namespaces: readonly string[];
  readonly handler: (event: ReflectorEvent<LeaseCandidate>) => void;
  /** All candidates of one namespace more are known, in `version`. */
  readonly onSynced: (version: LeaseCandidateVersion) => void;
  /** No version is served: told once, each time that it comes to be so. */
  readonly onNotServed: () => void;
  readonly onDiscoveryError: (error: unknown) => void;
  readonly onError: (error: unknown, context: ReflectorErrorContext) => void;
  readonly observe: (observation: ReflectorObservation) => void;
}

/** How often to look whether the API is served by now, in milliseconds. */
const DISCOVERY_INTERVAL_MS = 10_000;
const BACKOFF = { initialMs: 100, maxMs: DISCOVERY_INTERVAL_MS, resetAfterMs: DISCOVERY_INTERVAL_MS };

/**
 * Watches LeaseCandidates in the newest version that the server has, found by discovery at the start and again whenever
 * a watch says that the resource has gone (rule 11).
 */
export class CandidateWatch {
  readonly #parts: CandidateWatchParts;
  readonly #stopping = new AbortController();
  /** Between a version that turned out to be gone and the next look. */
  readonly #backoff: Backoff;
  #running: Promise<void> | undefined;
  /** Undefined while no version is served. */
  #watched: { version: LeaseCandidateVersion; reflectors: NamespacedReflectors<LeaseCandidate> } | undefined;
  #isNotServed = false;

  constructor(parts: CandidateWatchParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(BACKOFF, parts.clock);
  }

  /** The version watched; undefined while none is served. */
  get version(): LeaseCandidateVersion | undefined {
    return this.#watched?.version;
  }

  /** One for each namespace watched; none while no version is served. */
  get reflectors(): readonly Pick<Reflector<LeaseCandidate>, 'lastActivity' | 'unwatchedSince'>[] {
    return this.#watched?.reflectors.all ?? [];
  }

  /** Whether all candidates of `namespace` are known. */
  knows(namespace: string): boolean {
    return this.#watched?.reflectors.knows(namespace) ?? false;
  }

  hasSynced(): boolean {
    return this.#watched?.reflectors.knowAll() ?? false;
  }

  /** See {@link Reflector.relist}. */
  relist(why?: 'doubt' | 'loss'): void {
    this.#watched?.reflectors.relist(why);
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
      const version = await this.#discover();
      if (version === undefined) {
        await sleep(this.#parts.clock, DISCOVERY_INTERVAL_MS, signal);
        continue;
      }
      await this.#watchUntilGone(version);
      // Of several servers behind one address, one may list a version that another does not have.
      await sleep(this.#parts.clock, this.#backoff.failed(), signal);
    }
  }

  async #discover(): Promise<LeaseCandidateVersion | undefined> {
    const { client, onDiscoveryError, onNotServed } = this.#parts;
    try {
      const version = await discoverServedVersion(client, leaseCandidateResource, this.#stopping.signal);
      const isNews = version === undefined && !this.#isNotServed;
      this.#isNotServed = version === undefined;
      if (isNews) onNotServed();
      return version;
    } catch (error) {
      if (!this.#stopping.signal.aborted) onDiscoveryError(error);
      return undefined;
    }
  }

  async #watchUntilGone(version: LeaseCandidateVersion): Promise<void> {
    const gone = Promise.withResolvers<void>();
    const { signal } = this.#stopping;
    const end = () => gone.resolve();
    signal.addEventListener('abort', end, { once: true });
    const reflectors = new NamespacedReflectors(this.#parts.namespaces, (namespace) =>
      this.#reflector(version, namespace, end),
    );
    this.#watched = { version, reflectors };
    reflectors.start();
    if (signal.aborted) end();
    await gone.promise;
    signal.removeEventListener('abort', end);

    this.#watched = undefined;
    await reflectors.stop();
    const { handler } = this.#parts;
    for (const reflector of reflectors.all) {
      for (const object of reflector.objects())
        handler({ type: 'deleted', object, previous: object, initial: false });
    }
  }

  #reflector(
    version: LeaseCandidateVersion,
    namespace: string,
    onNotServed: () => void,
  ): Reflector<LeaseCandidate> {
    const { client, clock, handler, onError, observe, onSynced } = this.#parts;
    return new Reflector({
      client,
      clock,
      path: resourcePaths.candidates(version, namespace),
      decode: decodeLeaseCandidate,
      handler,
      onError,
      observe,
      onNotServed,
      onSynced: () => {
        if (this.hasSynced()) this.#backoff.succeeded();
        onSynced(version);
      },
    });
  }
}
