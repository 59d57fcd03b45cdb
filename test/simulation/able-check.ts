import type { Instant } from '../../src/support/clock.ts';
import type { SimReplica } from './sim-replica.ts';
import type { SimWorld } from './sim-world.ts';

/**
 * Longest time until the lock is free after the API server of its holder has lost the API: 26 s. The broken watch is
 * retried within 10 s, the holder keeps the lock for 10 s, its next check comes within 2.2 s, and its last write may
 * take 3.5 s. A crashed holder keeps the lock for 15 s, or for 30 s if it had just claimed it by force. A claim by
 * force settles for 15 s, and 15 s more are for a lock that is lost once more.
 */
const TAKEN_OVER_WITHIN_MS = 60_000;

/** Checks that an able coordinator holds the lock whenever one has been able to elect for long. */
export class AbleCheck {
  readonly #world: SimWorld;
  readonly #ableSince = new Map<SimReplica, Instant>();

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** Returns the violation at this moment, if there is one. */
  look(): readonly string[] {
    const { coordinators, clock } = this.#world;
    const able = coordinators.running.filter((replica) => coordinators.isAble(replica));
    for (const replica of this.#ableSince.keys())
      if (!able.includes(replica)) this.#ableSince.delete(replica);
    const isServed =
      coordinators.isBuiltInActive ||
      coordinators.running.some(
        ({ lock, controller }) => lock.state.kind === 'active' && controller.canElect(),
      );
    const boundMs = TAKEN_OVER_WITHIN_MS / this.#world.plan.clockTolerance;
    return able.flatMap((replica) => {
      const since = this.#ableSince.get(replica) ?? clock.now();
      this.#ableSince.set(replica, isServed ? clock.now() : since);
      const waitedMs = clock.now() - since;
      if (isServed || waitedMs < boundMs) return [];
      return [`nobody elects, though ${replica.name} could for ${Math.round(waitedMs / 1000)} s`];
    });
  }
}
