import type { Chance } from '../chance.ts';
import type { SimPlan } from '../sim-plan.ts';
import type { SimWorld } from '../sim-world.ts';

/** Whom a fault can be planned for. */
export type Population = Pick<SimPlan, 'leases' | 'slots' | 'replicas'>;

/** One kind of fault. */
export interface Fault<Args> {
  readonly plan: (chance: Chance, population: Population) => Args;
  /**
   * Returns whether it did anything; false where it cannot strike just now, and is tried again a little later. Undefined:
   * it has begun, and counts itself when it strikes.
   */
  readonly strike: (world: SimWorld, args: Args) => boolean | undefined;
  /** How long after its end the cluster may take to be in order again, in milliseconds, and why. */
  readonly settlesWithin: { readonly ms: number; readonly why: string };
}

/** As a fault of any kind, whose arguments only it knows. */
export function fault<Args>(of: Fault<Args>): Fault<unknown> {
  return of as Fault<unknown>;
}
