import type { Instant } from '../../src/support/clock.ts';
import type { SimReplica } from './sim-replica.ts';
import type { SimWorld } from './sim-world.ts';

/**
 * The lock is free 26 s after its holder's API server has lost the API, at the latest: the broken watch is begun again
 * within 10 s, the lock is kept for 10 s, the next look comes within 2.2 s, and the last write may take 3.5 s. A holder that
 * has crashed keeps it for 15 s, or for 30 s where it had just claimed by force. A claim by force settles for 15 s, and 15 s
 * are for one that is lost once more.
 */
const TAKEN_OVER_WITHIN_MS = 60_000;

/** Sees to it that somebody who can elect coordinates, whenever somebody could for long. */
export class AbleCheck {
  readonly #world: SimWorld;
  readonly #ableSince = new Map<SimReplica, Instant>();

  constructor(world: SimWorld) {
    this.#world = world;
  }

  /** What is not as it should be now. */
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
