import { type CandidateApiVersion, candidateResources } from '../coordination/candidate-sources.ts';
import { decodeLeaseCandidate } from '../coordination/lease-candidate.ts';
import { resourcePaths, watchedNamespaces } from '../coordination/resource-paths.ts';
import type { CandidateSource, LeaseCandidate } from '../election/model.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { discoverServed } from '../kubernetes/discovery.ts';
import { hasStatus } from '../kubernetes/errors.ts';
import { Reflector, type ReflectorEvent } from '../kubernetes/reflector.ts';
import { Backoff } from '../support/backoff.ts';
import { type Clock, type Instant, sleep } from '../support/clock.ts';
import type { WatchEvent } from './controller-event.ts';

/** `observe` gets `notServed` only if the server serves no version of any source. */
interface CandidateSourcesWatchParts extends Omit<CandidateWatchParts, 'source'> {
  /** Called when all candidates of a source are cached, except those in forbidden namespaces. */
  readonly onRevealed: (source: CandidateSource) => void;
}

/**
 * After a replica has lost a source of candidates, it leaves the lock to other replicas for this time, in ms, or until
 * it regains the source: a replica at another API server may still have all sources. This time is enough to release
 * the lock: a holder that cannot elect keeps the lock for at most 12.2 s, then its last write ends within 3.5 s.
 */
const YIELD_LOCK_MS = 20_000;

/** How long a lost source with candidates counts as missing, in ms. After that, it counts as turned off on purpose. */
export const MISSING_FOR_MS = 86_400_000;

/** Watches the LeaseCandidates of all sources, each in its served version (rule 13). */
export class CandidateSourcesWatch {
  readonly #parts: CandidateSourcesWatchParts;
  readonly #watches: Readonly<Record<CandidateSource, CandidateWatch>>;
  readonly #all: readonly CandidateWatch[];
  /** For each lost source: the time of the loss. A source stays lost until all its candidates are cached again. */
  readonly #lostAt = new Map<CandidateSource, Instant>();
  /** The lost sources that had candidates (rule 13). */
  readonly #missing = new Set<CandidateSource>();

  constructor(parts: CandidateSourcesWatchParts) {
    this.#parts = parts;
    this.#watches = { native: this.#watch('native'), custom: this.#watch('custom') };
    this.#all = Object.values(this.#watches);
  }

  #watch(source: CandidateSource): CandidateWatch {
    return new CandidateWatch({
      ...this.#parts,
      source,
      observe: (event) => this.#observe(source, event),
      onHidden: (candidate) => {
        if (this.#lostAt.has(source)) this.#missing.add(source);
        this.#parts.onHidden(candidate);
      },
    });
  }

  #observe(source: CandidateSource, event: WatchEvent): void {
    const { clock, onRevealed, observe } = this.#parts;
    if (event.type === 'synced') {
      this.#lostAt.delete(source);
      this.#missing.delete(source);
      onRevealed(source);
    } else if (event.type === 'gone') this.#lostAt.set(source, clock.now());
    if (event.type !== 'notServed' || this.#all.every(({ isNotServed }) => isNotServed)) observe(event);
  }

  /** The watched versions, at most one for each source. */
  get apiVersions(): readonly CandidateApiVersion[] {
    return this.#all.map(({ apiVersion }) => apiVersion).filter((served) => served !== undefined);
  }

  /** Whether this replica lost a source less than {@link YIELD_LOCK_MS} ago, and has not regained it. */
  get hasJustLostSource(): boolean {
    const now = this.#parts.clock.now();
    return this.#lostAt.values().some((at) => now < at + YIELD_LOCK_MS);
  }

  /** The times at which the missing sources were lost. */
  get missingSince(): readonly Instant[] {
    const now = this.#parts.clock.now();
    const lost = [...this.#missing].map((source) => this.#lostAt.get(source) ?? now);
    return lost.filter((at) => now < at + MISSING_FOR_MS);
  }

  apiVersionOf(source: CandidateSource): CandidateApiVersion | undefined {
    return this.#watches[source].apiVersion;
  }

  /** Whether the last successful discovery found no version of `source`. */
  isNotServed(source: CandidateSource): boolean {
    return this.#watches[source].isNotServed;
  }

  get reflectors(): CandidateWatch['reflectors'] {
    return this.#all.flatMap(({ reflectors }) => reflectors);
  }

  /** Whether `namespace` has an available source, and all candidates of its available sources are cached. */
  knows(namespace: string): boolean {
    const open = this.#all.filter((watch) => !watch.isUnavailable(namespace));
    return open.length > 0 && open.every((watch) => watch.knows(namespace));
  }

  hasSynced(): boolean {
    return watchedNamespaces(this.#parts.namespaces).every((namespace) => this.knows(namespace));
  }

  relist(): void {
    for (const watch of this.#all) watch.relist();
  }

  start(): void {
    for (const watch of this.#all) watch.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map((watch) => watch.stop()));
  }
}

export interface WatchScope {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  /** Empty for all namespaces. */
  readonly namespaces: readonly string[];
}

/** Callbacks must not throw. */
interface CandidateWatchParts extends WatchScope {
  readonly source: CandidateSource;
  readonly handler: (event: ReflectorEvent<LeaseCandidate>) => void;
  /** Called for each cached candidate after `stop()`, or when the server no longer serves the watched version. */
  readonly onHidden: (candidate: LeaseCandidate) => void;
  /** Called after the first list of each reflector, and when candidates are found to be forbidden or not served. */
  readonly onSyncChange: () => void;
  /** Gets `notServed` once, even if several discoveries in a row find no version. */
  readonly observe: (event: WatchEvent) => void;
}

const DISCOVERY_INTERVAL_MS = 10_000;
const BACKOFF = { initialMs: 100, maxMs: DISCOVERY_INTERVAL_MS, resetAfterMs: DISCOVERY_INTERVAL_MS };

/**
 * Looks for the newest version of a source that the server serves, and watches the candidates in this version. When the
 * server no longer serves this version, looks again (rule 11).
 */
export class CandidateWatch {
  readonly #parts: CandidateWatchParts;
  readonly #stopping = new AbortController();
  /** Delays the next discovery when the server has stopped serving the watched version. */
  readonly #backoff: Backoff;
  #running: Promise<void> | undefined;
  #watched: { apiVersion: CandidateApiVersion; reflectors: NamespacedReflectors<LeaseCandidate> } | undefined;
  #end = () => {};
  /** `gone`: the server no longer has the watched version, and no discovery has succeeded since. */
  #served: 'unknown' | 'served' | 'notServed' | 'gone' = 'unknown';
  /** The namespaces whose candidates are not cached, because the server answered 403. '' stands for all namespaces. */
  readonly #forbidden = new Set<string>();

  constructor(parts: CandidateWatchParts) {
    this.#parts = parts;
    this.#backoff = new Backoff(BACKOFF, parts.clock);
  }

  get apiVersion(): CandidateApiVersion | undefined {
    return this.#watched?.apiVersion;
  }

  get isNotServed(): boolean {
    return this.#served === 'notServed';
  }

  /** The reflectors of the watched version; empty while no version is watched. */
  get reflectors(): readonly Pick<Reflector<LeaseCandidate>, 'lastActivity' | 'unwatchedSince'>[] {
    return this.#watched?.reflectors.all ?? [];
  }

  /** Whether all candidates of `namespace` are cached. */
  knows(namespace: string): boolean {
    return this.#watched?.reflectors.knows(namespace) ?? false;
  }

  /** Whether the server does not serve the candidates of `namespace`, or answered 403 before they were cached. */
  isUnavailable(namespace: string): boolean {
    const isForbidden = this.#forbidden.has('') || this.#forbidden.has(namespace);
    return isForbidden || this.#served === 'notServed' || this.#served === 'gone';
  }

  relist(): void {
    this.#watched?.reflectors.relist();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#end();
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
      // Back off: behind a load balancer, one server may list a version that another server does not serve.
      await sleep(this.#parts.clock, this.#backoff.failed(), signal);
    }
  }

  async #discover(): Promise<CandidateApiVersion | undefined> {
    const { client, source, observe, onSyncChange } = this.#parts;
    try {
      const apiVersion = await discoverServed(client, candidateResources[source], this.#stopping.signal);
      const isNew = apiVersion === undefined && !this.isNotServed;
      this.#served = apiVersion === undefined ? 'notServed' : 'served';
      if (isNew) {
        observe({ type: 'notServed' });
        onSyncChange();
      }
      return apiVersion;
    } catch (error) {
      if (!this.#stopping.signal.aborted) observe({ type: 'discoveryFailed', error });
      return undefined;
    }
  }

  async #watchUntilGone(apiVersion: CandidateApiVersion): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    this.#end = resolve;
    const reflectors = new NamespacedReflectors(this.#parts.namespaces, (namespace) =>
      this.#reflector(apiVersion, namespace),
    );
    this.#watched = { apiVersion, reflectors };
    reflectors.start();
    const { signal } = this.#stopping;
    if (signal.aborted) this.#end();
    await ended;

    const wasKnown = reflectors.all.some((reflector) => reflector.hasSynced());
    this.#watched = undefined;
    this.#served = 'gone';
    this.#forbidden.clear();
    if (wasKnown && !signal.aborted) this.#parts.observe({ type: 'gone', apiVersion });
    await reflectors.stop();
    for (const reflector of reflectors.all)
      for (const candidate of reflector.objects()) this.#parts.onHidden(candidate);
    if (!signal.aborted) this.#parts.onSyncChange();
  }

  #reflector(apiVersion: CandidateApiVersion, namespace: string): Reflector<LeaseCandidate> {
    const { client, clock, handler, observe } = this.#parts;
    return new Reflector({
      client,
      clock,
      path: resourcePaths.candidates(apiVersion, namespace),
      decode: decodeLeaseCandidate,
      handler,
      onError: (error, context) => {
        observe({ type: 'watchFailed', error, context });
        this.#noteRefusal(error, namespace);
      },
      observe: (observation) => observe({ type: 'reflected', resource: 'leasecandidates', observation }),
      onNotServed: () => this.#end(),
      onSynced: () => {
        this.#forbidden.delete(namespace);
        this.#onSyncChange();
      },
    });
  }

  /** Records a missing permission, unless the candidates are already cached. */
  #noteRefusal(error: unknown, namespace: string): void {
    if (!hasStatus(error, 403) || this.#forbidden.has(namespace) || this.knows(namespace)) return;
    this.#forbidden.add(namespace);
    this.#onSyncChange();
  }

  #onSyncChange(): void {
    if (this.#watched && this.#hasSynced) {
      this.#backoff.succeeded();
      this.#parts.observe({ type: 'synced', apiVersion: this.#watched.apiVersion });
    }
    this.#parts.onSyncChange();
  }

  /** Whether the candidates of at least one namespace are cached, and all other namespaces are cached or forbidden. */
  get #hasSynced(): boolean {
    const { namespaces = [] } = this.#watched?.reflectors ?? {};
    const isDone = (namespace: string) => this.knows(namespace) || this.#forbidden.has(namespace);
    return namespaces.every(isDone) && namespaces.some((namespace) => this.knows(namespace));
  }
}

/** One reflector for each watched namespace, or a single one, with the namespace '', for all namespaces. */
export class NamespacedReflectors<T> {
  readonly namespaces: readonly string[];
  readonly all: readonly Reflector<T>[];
  readonly #byNamespace: ReadonlyMap<string, Reflector<T>>;

  /** @param namespaces an empty list means all namespaces */
  constructor(namespaces: readonly string[], make: (namespace: string) => Reflector<T>) {
    this.namespaces = watchedNamespaces(namespaces);
    this.#byNamespace = new Map(this.namespaces.map((namespace) => [namespace, make(namespace)]));
    this.all = [...this.#byNamespace.values()];
  }

  knows(namespace: string): boolean {
    const reflector = this.#byNamespace.get('') ?? this.#byNamespace.get(namespace);
    return reflector?.hasSynced() ?? false;
  }

  hasSynced(): boolean {
    return this.all.every((reflector) => reflector.hasSynced());
  }

  start(): void {
    for (const reflector of this.all) reflector.start();
  }

  /** Makes each reflector list again, unless it has just listed (see {@link Reflector.relist}). */
  relist(): void {
    for (const reflector of this.all) reflector.relist();
  }

  async stop(): Promise<void> {
    await Promise.all(this.all.map((reflector) => reflector.stop()));
  }
}
