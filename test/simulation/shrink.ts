import { type Reduction, reducePlan, type SimPlan } from './sim-plan.ts';

/** Whether a plan with less in it still goes wrong. */
export type StillFails = (plan: SimPlan) => Promise<boolean>;

/**
 * The least of a plan that still goes wrong: leaves out actors, then ever smaller parts of the faults, for as long as
 * anything can be left out.
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

/** Without any coordinator nothing is ever in order. */
function isLastReplica({ replicas }: SimPlan, without: readonly string[]): boolean {
  return replicas.every(({ name }) => without.includes(name));
}

/** Leaves out halves, then quarters, and so on down to single ones. */
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
