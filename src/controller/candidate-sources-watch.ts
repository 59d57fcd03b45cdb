import { type CandidateApiVersion, candidateSources } from '../coordination/candidate-sources.ts';
import { watchedNamespaces } from '../coordination/resource-paths.ts';
import type { CandidateSource } from '../election/model.ts';
import type { Instant } from '../support/clock.ts';
import { CandidateWatch, type CandidateWatchParts } from './candidate-watch.ts';

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
