import { sourceOf } from '../../src/coordination/candidate-sources.ts';
import { type CandidateSource, FENCE } from '../../src/election/model.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import type { LeaseStories } from './settled-check.ts';
import { prioritiesEndedAt, rankOf } from './sim-rank.ts';
import type { SimWorld } from './sim-world.ts';

/** Maximum time to decide and write, in milliseconds. */
const KNOWN_MS = 15_000;

/**
 * Checks that coordinators ask a leader to yield only to a candidate that is better by priority or version (rules 5
 * and 16).
 */
export class PreferenceCheck {
  readonly #world: SimWorld;
  readonly #stories: LeaseStories;
  /** By replica: the groups whose candidates it has watched at some time. */
  readonly #sources = new Map<string, Set<CandidateSource>>();

  constructor(world: SimWorld, stories: LeaseStories) {
    this.#world = world;
    this.#stories = stories;
  }

  observe(event: HistoryEvent): readonly string[] {
    if (!('writer' in event) || event.writer.kind !== 'coordinator') return [];
    this.#noteSources(event.writer.name);
    if (event.kind !== 'lease') return [];
    const { key, after, before, writer, at } = event;
    const isGrant = after !== undefined && after.holder !== before?.holder && after.holder !== FENCE;
    if (isGrant && after.preferredHolder !== undefined)
      return [
        `${writer.name} gives ${key} to ${after.holder}, and leaves ${after.preferredHolder} preferred`,
      ];
    // The decision may have missed a candidate that has just appeared or disappeared.
    if (at - (this.#stories.byLease.get(key)?.disturbedAt ?? at) < KNOWN_MS) return [];
    if (!after?.preferredHolder || after.preferredHolder === before?.preferredHolder) return [];
    const [namespace] = key.split('/');
    const candidates = [after.holder, after.preferredHolder].map((name) =>
      this.#world.published(`${namespace}/${name}`),
    );
    const known = candidates.filter((candidate) => candidate !== undefined);
    if (at - prioritiesEndedAt(this.#world, known) < KNOWN_MS) return [];
    // The decision of a replica that has crashed since cannot be judged: the priority may have ended only by its
    // clock.
    const replica = this.#world.coordinators.named(writer.name);
    if (!replica) return [];
    const wall = replica.process.wallTime();
    const [holder, preferred] = candidates.map(
      (candidate) => candidate && rankOf(candidate, wall, after.strategy ?? ''),
    );
    // A holder without a candidate counts as the worst.
    if (holder === undefined || preferred === undefined || preferred < holder) return [];
    if (!this.#hasSeen(writer.name, `${namespace}/${after.holder}`)) return [];
    // The replica may have lost all its watches at once, and have recovered only some of them.
    if (!replica.isUpToDate) return [];
    return [
      `${writer.name} prefers ${after.preferredHolder} for ${key}, which is no better than ${after.holder}`,
    ];
  }

  /** Whether a replica has ever watched the candidate's group. Without that it cannot know the candidate (rule 13). */
  #hasSeen(replica: string, key: string): boolean {
    return this.#sources.get(replica)?.has(sourceOf(this.#world.published(key)?.apiVersion)) ?? true;
  }

  #noteSources(replica: string): void {
    const sources = this.#sources.get(replica) ?? new Set();
    for (const api of this.#world.coordinators.named(replica)?.controller.candidateApis ?? [])
      sources.add(sourceOf(api));
    this.#sources.set(replica, sources);
  }
}
