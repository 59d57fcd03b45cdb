import type { Instant } from '../../src/support/clock.ts';
import type { SimReplica } from './sim-replica.ts';
import type { SimWorld } from './sim-world.ts';

/**
 * A holder of the lock whose API server has lost the API notices when its watch is begun again, within 10 s; it keeps the
 * lock for 10 s and the time to its next look, 2.2 s, and lets it go once its last write has ended, 3.5 s later. One that is
 * cut off or has crashed keeps others waiting for 15 s, and for 15 s more after a claim by force. Another time 15 s is for
 * one that comes back meanwhile and is gone again, or was ousted by the built-in controller before that went, too.
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
