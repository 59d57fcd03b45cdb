import type { KubernetesObject } from '../../src/kubernetes/objects.ts';
import type { Instant } from '../../src/support/clock.ts';
import type { HistoryEvent } from '../invariants/history.ts';
import { FAR_BEHIND_MS, type LeaseStories } from './settled-check.ts';
import { specOf } from './sim-api-server.ts';
import { keyOf } from './sim-store.ts';
import type { SimWorld } from './sim-world.ts';

/** Time without disturbance after which all replicas know a candidate, in milliseconds. */
const STEADY_MS = 30_000;
/** After a network fault, a replica may wait up to 30 s for a watch to open, and then retry after a backoff. */
const RECONNECTED_MS = 90_000;

/**
 * Checks that coordinators leave a Lease in a conflict alone, except that they remove their own preferredHolder (rule
 * 4).
 */
export class ConflictCheck {
  readonly #world: SimWorld;
  readonly #stories: LeaseStories;
  /** When candidates last released a Lease, by namespace and name. */
  readonly #releasedAt = new Map<string, Instant>();

  constructor(world: SimWorld, stories: LeaseStories) {
    this.#world = world;
    this.#stories = stories;
  }

  observe(event: HistoryEvent): readonly string[] {
    if (event.kind !== 'lease') return [];
    this.#noteRelease(event);
    if (event.writer.kind !== 'coordinator' || !this.#isInConflict(event.key)) return [];
    const { before, after, writer, key } = event;
    // Between the decision and the write, the replica may have seen late events, or the first ones of a new watch.
    const { coordinators } = this.#world;
    const replica = coordinators.named(writer.name);
    if (replica && !coordinators.seesAll(replica)) return [];
    // A moment ago, the replica may not have known the answers to its last pings, and had to decide without them.
    if (coordinators.heldUntil > this.#world.clock.now() - STEADY_MS) return [];
    const isRemoval =
      before?.preferredHolder !== undefined &&
      after?.preferredHolder === undefined &&
      before.holder === after?.holder &&
      before.renewTime === after.renewTime;
    return isRemoval ? [] : [`${writer.name} writes ${key}, whose candidates are in conflict`];
  }

  /**
   * Whether all present and former candidates run and are well, and those with the highest version ask for different
   * strategies.
   */
  #isInConflict(key: string): boolean {
    const [namespace, leaseName] = key.split('/');
    const candidates = this.#world.store
      .candidates()
      .filter(
        (object) =>
          object.metadata.namespace === namespace &&
          specOf(object)['leaseName'] === leaseName &&
          object === this.#world.published(keyOf(object)),
      );
    const { clock, plan } = this.#world;
    const now = clock.now();
    // A candidate that has released the Lease takes no part for a while (rule 3), and replicas see the release later.
    const backAfterMs = 2 * plan.settings.electionDurationMs;
    const others = candidates.filter(({ metadata }) => {
      const releasedAt = this.#releasedAt.get(`${namespace}/${metadata.name}`);
      return releasedAt === undefined || releasedAt < now - backAfterMs;
    });
    if (!areAtOdds(candidates) || !areAtOdds(others)) return false;
    if ((this.#stories.byLease.get(key)?.disturbedAt ?? now) > now - STEADY_MS) return false;
    const aheadMs = this.#world.coordinators.aheadMs;
    return candidates.every(({ metadata }) => {
      const slot = this.#world.slots.find(({ program }) => program?.name === metadata.name);
      const { link } = slot?.program ?? {};
      if (!slot?.candidate || !link || link.isDisturbed) return false;
      // A sleeping candidate answers no ping, so it is not a party of the conflict (rule 4).
      if (slot.candidate.process.isPaused) return false;
      if (slot.candidate.process.lowestSkewMs - aheadMs < FAR_BEHIND_MS) return false;
      return slot.touchedAt < now - STEADY_MS && link.troubledUntil < now - RECONNECTED_MS;
    });
  }

  #noteRelease({ key, before, after }: Extract<HistoryEvent, { kind: 'lease' }>): void {
    if (!before?.holder || after?.holder) return;
    const [namespace] = key.split('/');
    this.#releasedAt.set(`${namespace}/${before.holder}`, this.#world.clock.now());
  }
}

/** Whether the candidates with the highest version ask for different strategies. */
function areAtOdds(candidates: readonly KubernetesObject[]): boolean {
  const versions = candidates.map((object) => String(specOf(object)['binaryVersion'])).sort();
  const highest = candidates.filter((object) => specOf(object)['binaryVersion'] === versions.at(-1));
  return new Set(highest.map((object) => specOf(object)['strategy'])).size >= 2;
}
