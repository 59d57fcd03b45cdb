import {
  type CandidateApiVersion,
  candidateResources,
  candidateSources,
} from '../coordination/candidate-sources.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { resourcePaths, watchedNamespaces } from '../coordination/resource-paths.ts';
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
import { type Clock, type Instant, sleep } from '../support/clock.ts';

/** What a {@link CandidateSourcesWatch} needs; `onNotServed` is told when no source has any version that is served. */
export interface CandidateSourcesWatchParts extends Omit<CandidateWatchParts, 'source'> {
  /** All candidates of a source are in sight. */
  readonly onRevealed: (source: CandidateSource) => void;
}

/**
 * For so long after it has lost one of several sources a replica leaves the lock to others, in milliseconds: one at another
 * API server may still have all of them. The lock is let go after 10 s, released 3.5 s later, and then taken at once.
 */
const OTHERS_FIRST_MS = 20_000;

/**
 * For so long a source that went with candidates in it counts as missed, in milliseconds: a day is enough to be told of it, and
 * whoever turned it off on purpose is left in peace then, or once this process is started anew.
 */
export const MISSED_FOR_MS = 86_400_000;

/** Watches the LeaseCandidates of all sources side by side, each in the version in which it is served (rule 13). */
export class CandidateSourcesWatch {
  readonly #parts: CandidateSourcesWatchParts;
  readonly #watches: readonly CandidateWatch[];
  /** When each source was lost that has not come back. */
  readonly #lostAt = new Map<CandidateSource, Instant>();
  /** Those of them that have candidates, who take no part in elections meanwhile. */
  readonly #missed = new Set<CandidateSource>();

  constructor(parts: CandidateSourcesWatchParts) {
    this.#parts = parts;
    this.#watches = candidateSources.map(
      (source) =>
        new CandidateWatch({
          ...parts,
          source,
          onSynced: (apiVersion) => {
            this.#lostAt.delete(source);
            this.#missed.delete(source);
            parts.onRevealed(source);
            parts.onSynced(apiVersion);
          },
          onNotServed: () => {
            if (this.#watches.every(({ isNotServed }) => isNotServed)) parts.onNotServed();
          },
          onGone: (apiVersion) => {
            this.#lostAt.set(source, parts.clock.now());
            parts.onGone(apiVersion);
          },
          onHidden: (candidate) => {
            if (this.#lostAt.has(source)) this.#missed.add(source);
            parts.onHidden(candidate);
          },
        }),
    );
  }

  /** What is watched; nothing while no source is served. */
  get apiVersions(): readonly CandidateApiVersion[] {
    return this.#watches.map(({ apiVersion }) => apiVersion).filter((served) => served !== undefined);
  }

  /** Whether a source has gone, so recently that others may take the lock who have it still. */
  get hasJustLostOne(): boolean {
    const now = this.#parts.clock.now();
    return this.#lostAt.values().some((at) => now < at + OTHERS_FIRST_MS);
  }

  /** When sources went that are missed: candidates were in them, which nothing has been heard of since. */
  get missedSince(): readonly Instant[] {
    const now = this.#parts.clock.now();
    const lost = [...this.#missed].map((source) => this.#lostAt.get(source) ?? now);
    return lost.filter((at) => now < at + MISSED_FOR_MS);
  }

  /** In which version the candidates of `source` are served; undefined: they are not. */
  apiVersionOf(source: CandidateSource): CandidateApiVersion | undefined {
    return this.#watches.find((watch) => watch.source === source)?.apiVersion;
  }

  /** Whether the server has said that it does not serve `source`. */
  isNotServed(source: CandidateSource): boolean {
    return this.#watches.some((watch) => watch.source === source && watch.isNotServed);
  }

  /** One for each source and namespace watched. */
  get reflectors(): CandidateWatch['reflectors'] {
    return this.#watches.flatMap(({ reflectors }) => reflectors);
  }

  /** Whether all candidates of `namespace` are known: there is a source of them, and each that there is was read. */
  knows(namespace: string): boolean {
    const open = this.#watches.filter((watch) => !watch.isClosed(namespace));
    return open.length > 0 && open.every((watch) => watch.knows(namespace));
  }

  hasSynced(): boolean {
    return watchedNamespaces(this.#parts.namespaces).every((namespace) => this.knows(namespace));
  }

  /** See {@link Reflector.relist}. */
  relist(): void {
    for (const watch of this.#watches) watch.relist();
  }

  start(): void {
    for (const watch of this.#watches) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.stop()));
  }
}

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

/** One reflector for each namespace that is watched, or one for all. */
export class NamespacedReflectors<T> {
  /** By namespace, '' being all. */
  readonly #byNamespace: ReadonlyMap<string, Reflector<T>>;

  /** No `namespaces` are all; `make` is then asked for ''. */
  constructor(namespaces: readonly string[], make: (namespace: string) => Reflector<T>) {
    this.#byNamespace = new Map(
      watchedNamespaces(namespaces).map((namespace) => [namespace, make(namespace)]),
    );
  }

  /** Those that are watched, '' being all. */
  get namespaces(): readonly string[] {
    return [...this.#byNamespace.keys()];
  }

  get all(): readonly Reflector<T>[] {
    return [...this.#byNamespace.values()];
  }

  /** Whether everything in `namespace` is known. */
  knows(namespace: string): boolean {
    const reflector = this.#byNamespace.get('') ?? this.#byNamespace.get(namespace);
    return reflector?.hasSynced() ?? false;
  }

  /** Whether everything is known that is watched. */
  knowAll(): boolean {
    return this.all.every((reflector) => reflector.hasSynced());
  }

  start(): void {
    for (const reflector of this.all) reflector.start();
  }

  /** See {@link Reflector.relist}. */
  relist(): void {
    for (const reflector of this.all) reflector.relist();
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((reflector) => reflector.stop()));
  }
}
