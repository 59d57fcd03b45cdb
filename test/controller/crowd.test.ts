import { describe, expect, test, vi } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { ControllerWorld, isPing } from './make-controller.ts';
import { makeCandidateObject } from './make-objects.ts';

const KEY = 'default/scheduler';

async function makeLedWorld(): Promise<ControllerWorld> {
  const world = await new ControllerWorld().start();
  world.create('leasecandidates', makeCandidateObject('a', { renewedAt: 0 }));
  await world.clock.advance(0);
  // The holder renews it.
  await world.clock.advance(2000);
  world.change('leases', KEY, { renewTime: world.wallText, leaseDurationSeconds: 15 });
  await world.clock.advance(0);
  return world;
}

describe('a crowd of candidates with a settled Lease', () => {
  test('renews, and its leader does, without a decision that reads the others', async () => {
    const world = await makeLedWorld();
    for (let index = 0; index < 200; index++)
      world.create('leasecandidates', makeCandidateObject(`b${index}`, { renewedAt: 2000 }));
    await world.clock.advance(1000);
    expect(world.decisions.at(-1)).toBe(`${KEY} LeaderOptimal`);
    using gather = vi.spyOn(ElectionRecords.prototype, 'gather');
    for (let index = 0; index < 200; index++) world.renew(`default/b${index}`);
    for (let index = 0; index < 10; index++) {
      world.renewLease(KEY);
      await world.clock.advance(10);
    }
    const lookedAt = gather.mock.results.flatMap(({ value }) => value.candidates);
    expect(lookedAt).toHaveLength(0);
  });
});

test('decisions about a Lease with a crowd of candidates are limited after its budget is spent, and delays are reported', async () => {
  const world = await makeLedWorld();
  for (let index = 0; index < 2000; index++)
    world.create('leasecandidates', makeCandidateObject(`b${index}`, { renewedAt: 2000 }));
  await world.clock.advance(1000);
  const [decided, heldBack] = [world.decisions.length, world.heldBack.length];
  for (let index = 0; index < 100; index++) {
    world.create('leasecandidates', makeCandidateObject(`c${index}`, { renewedAt: 2000 }));
    await world.clock.advance(1);
  }
  // Each costs 0.2 s, and one second is available in advance.
  expect(world.decisions.length - decided).toBeLessThanOrEqual(6);
  expect(world.heldBack.length - heldBack).toBeGreaterThanOrEqual(94);
});

describe('candidates that come and go', () => {
  test.each([
    { name: 'an answer', fate: {} },
    { name: 'a refusal', fate: { outcome: 500 } },
    { name: 'an answer that arrives after their deletion', fate: { answerMs: 2000 } },
    { name: 'a refusal that arrives after their deletion', fate: { answerMs: 2000, outcome: 500 } },
  ])('leave nothing behind, whatever the result of their pings: $name', async ({ fate }) => {
    const world = await makeLedWorld();
    let pings = 0;
    world.fate = (request) => {
      if (!isPing(request)) return {};
      pings++;
      return fate;
    };
    const before = world.controller.kept;
    for (let index = 0; index < 50; index++) {
      const version = `1.35.${50 - index}`;
      world.create('leasecandidates', makeCandidateObject(`b${index}`, { renewedAt: -60_000, version }));
      await world.clock.advance(1000);
      world.remove('leasecandidates', `default/b${index}`);
      await world.clock.advance(100);
      world.renewLease(KEY);
    }
    await world.clock.advance(3000);
    expect(pings).toBeGreaterThan(20);
    expect(world.controller.kept).toEqual(before);
  });
});
