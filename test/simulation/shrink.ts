import { type Reduction, reducePlan, type SimPlan } from './sim-plan.ts';

/** Whether a reduced plan still fails. */
export type StillFails = (plan: SimPlan) => Promise<boolean>;

/**
 * Returns a minimal plan that still fails: removes actors, then smaller and smaller parts of the faults, until no
 * removal is possible.
 */
export async function shrink(plan: SimPlan, stillFails: StillFails): Promise<Reduction> {
  let faults = plan.faults.map(({ id }) => id);
  let without: readonly string[] = [];
  const fails = (reduction: Reduction) => stillFails(reducePlan(plan, reduction));
  for (let size = -1; size !== faults.length + plan.slots.length - without.length; ) {
    size = faults.length + plan.slots.length - without.length;
    faults = await fewestFaults(faults, (some) => fails({ faults: some, without }));
    for (const name of actorsOf(plan)) {
      if (without.includes(name) || isLastReplica(plan, [...without, name])) continue;
      if (await fails({ faults, without: [...without, name] })) without = [...without, name];
    }
  }
  return { faults, without };
}

function actorsOf(plan: SimPlan): readonly string[] {
  const builtIn = plan.hasBuiltIn ? ['built-in'] : [];
  return [...builtIn, ...plan.slots.map(({ name }) => name), ...plan.replicas.map(({ name }) => name)];
}

/** Without a coordinator, no Lease ever settles. */
function isLastReplica({ replicas }: SimPlan, without: readonly string[]): boolean {
  return replicas.every(({ name }) => without.includes(name));
}

/** Removes halves, then quarters, and so on down to single elements. */
async function fewestFaults(
  all: readonly number[],
  fails: (some: readonly number[]) => Promise<boolean>,
): Promise<number[]> {
  let left = [...all];
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < left.length; ) {
      const some = [...left.slice(0, from), ...left.slice(from + size)];
      if (await fails(some)) left = some;
      else from += size;
    }
  }
  return left;
}
