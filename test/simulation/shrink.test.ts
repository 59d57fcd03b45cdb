import { describe, expect, test } from 'vitest';
import { shrink } from './shrink.ts';
import { makePlan, reducePlan, type SimPlan } from './sim-plan.ts';

const plan = [...Array(50).keys()]
  .map(makePlan)
  .find(({ faults, slots }) => faults.length > 20 && slots.length > 4);

describe('the least of a plan that still fails', () => {
  test('is the faults and the actors that it takes, and no more', async () => {
    if (!plan) throw new Error('no seed below 50 has so many faults and slots');
    const [slot, other] = [plan.slots[1]?.name, plan.slots[3]?.name];
    const isNeeded = ({ faults, slots }: SimPlan) =>
      [3, 11].every((id) => faults.some((fault) => fault.id === id)) &&
      [slot, other].every((name) => slots.some((one) => one.name === name));
    const reduction = await shrink(plan, async (smaller) => isNeeded(smaller));
    const least = reducePlan(plan, reduction);
    expect(least.faults.map(({ id }) => id)).toEqual([3, 11]);
    expect(least.slots.map(({ name }) => name)).toEqual([slot, other]);
    expect(least.hasBuiltIn).toBe(false);
    // Somebody has to coordinate.
    expect(least.replicas).toHaveLength(1);
  });

  test('is no fault at all where it fails without any', async () => {
    if (!plan) throw new Error('no seed below 50 has so many faults and slots');
    const { faults } = await shrink(plan, async () => true);
    expect(faults).toEqual([]);
  });
});

test('a plan is the same each time for a seed, and another for another', () => {
  expect(makePlan(7)).toEqual(makePlan(7));
  expect(makePlan(7).faults).not.toEqual(makePlan(8).faults);
});
