import type { Chance } from '../chance.ts';
import type { SimPlan } from '../sim-plan.ts';
import type { SimWorld } from '../sim-world.ts';

/** The possible targets of faults. */
export type Population = Pick<SimPlan, 'leases' | 'slots' | 'replicas'>;

/** A kind of fault. */
export interface Fault<Args> {
  readonly plan: (chance: Chance, population: Population) => Args;
  /**
   * Returns whether the fault has struck. False: it cannot strike now, and is retried a little later. Undefined: it
   * has begun, and counts itself when it strikes.
   */
  readonly strike: (world: SimWorld, args: Args) => boolean | undefined;
  /** Maximum time for the cluster to settle after the fault ends, in milliseconds, and the reason. */
  readonly settlesWithin: { readonly ms: number; readonly why: string };
}

/** Hides the type of the arguments, so that all kinds of faults have one type. */
export function fault<Args>(of: Fault<Args>): Fault<unknown> {
  return of as Fault<unknown>;
}
