import { sourceOf } from '../../src/coordination/candidate-sources.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import type { LeaseStories } from './settled-check.ts';
import { specOf } from './sim-api-server.ts';
import type { SimWorld } from './sim-world.ts';

/** For a decision to be made and written, at the longest, in milliseconds. */
const KNOWN_MS = 15_000;

/** Sees to it that no leader is told to give way to one that is not better by its versions (rule 5). */
export class PreferenceCheck {
  readonly #world: SimWorld;
  readonly #stories: LeaseStories;

  constructor(world: SimWorld, stories: LeaseStories) {
    this.#world = world;
    this.#stories = stories;
  }

  observe(event: HistoryEvent): readonly string[] {
    if (event.kind !== 'lease' || event.writer.kind !== 'coordinator') return [];
    const { key, after, before, writer, at } = event;
    // A candidate that has just come or gone may not have been there when this was decided.
    if (at - (this.#stories.byLease.get(key)?.disturbedAt ?? at) < KNOWN_MS) return [];
    if (!after?.preferredHolder || after.preferredHolder === before?.preferredHolder) return [];
    const [namespace] = key.split('/');
    const [holder, preferred] = [after.holder, after.preferredHolder].map((name) =>
      rankOf(this.#world, `${namespace}/${name}`),
    );
    // A holder without a candidate of its own counts as the worst.
    if (holder === undefined || preferred === undefined || preferred < holder) return [];
    if (!this.#sees(writer.name, `${namespace}/${after.holder}`)) return [];
    return [
      `${writer.name} prefers ${after.preferredHolder} for ${key}, which is no better than ${after.holder}`,
    ];
  }

  /** Whether a replica watches those of a candidate's group: one that never has cannot know of them (rule 13). */
  #sees(replica: string, key: string): boolean {
    const { controller } = this.#world.coordinators.running.find(({ name }) => name === replica) ?? {};
    const candidate = this.#world.store.candidate(key);
    const source = sourceOf(candidate?.apiVersion);
    return controller?.candidateApis.some((api) => sourceOf(api) === source) ?? true;
  }
}

function rankOf(world: SimWorld, key: string): string | undefined {
  const candidate = world.store.candidate(key);
  const { emulationVersion, binaryVersion } = specOf(candidate);
  return candidate && `${String(emulationVersion)} ${String(binaryVersion)}`;
}
