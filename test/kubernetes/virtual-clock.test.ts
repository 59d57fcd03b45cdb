import { describe, expect, test } from 'vitest';
import { sleep } from '../../src/support/clock.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

describe('a virtual clock', () => {
  test('fires timers in the order of their times, then in the order in which they were set', async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.setTimer(() => fired.push(`late at ${clock.now()}`), 20);
    clock.setTimer(() => fired.push(`first at ${clock.now()}`), 10);
    clock.setTimer(() => fired.push(`second at ${clock.now()}`), 10);
    clock.setTimer(() => fired.push('cancelled'), 10)();
    await clock.advance(15);
    expect(fired).toEqual(['first at 10', 'second at 10']);
    await clock.advance(5);
    expect(fired.at(-1)).toBe('late at 20');
    expect([clock.now(), clock.pendingTimers]).toEqual([20, 0]);
  });

  test('keeps the order of thousands of timers, many of them cancelled', async () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    for (let i = 0; i < 3_000; i++) {
      const cancel = clock.setTimer(() => fired.push(clock.now()), Math.floor(clock.random() * 1_000));
      if (i % 3 === 0) cancel();
      if (i % 6 === 0) cancel();
    }
    expect(clock.pendingTimers).toBe(2_000);
    await clock.advance(1_000);
    expect(fired).toHaveLength(2_000);
    expect(fired).toEqual(fired.toSorted((a, b) => a - b));
    expect(clock.pendingTimers).toBe(0);
  });

  test('completes all work that a timer starts, including new timers', async () => {
    const clock = new VirtualClock();
    const woken: number[] = [];
    const run = async () => {
      for (let i = 0; i < 3; i++) {
        await sleep(clock, 10);
        woken.push(clock.now());
      }
    };
    const done = run();
    await clock.advance(100);
    await done;
    expect(woken).toEqual([10, 20, 30]);
  });

  test('runs until a condition is true, and throws if that is impossible', async () => {
    const clock = new VirtualClock();
    let rung = false;
    clock.setTimer(() => {
      rung = true;
    }, 5_000);
    await clock.runUntil(() => rung);
    expect(clock.now()).toBe(5_000);
    await expect(clock.runUntil(() => false)).rejects.toThrow('no timer is set');
    clock.setTimer(() => {}, 5_000);
    await expect(clock.runUntil(() => false, 1_000)).rejects.toThrow('within 1000 ms');
  });

  test('has a wall clock that may jump, unlike its monotonic one', async () => {
    const clock = new VirtualClock({ wallStartMs: 1_000 });
    await clock.advance(0.5);
    clock.jumpWallClock(-1_000);
    expect([clock.now(), clock.wallTime()]).toEqual([0.5, 500n]);
  });

  test('draws the same numbers from the same seed', () => {
    const draw = (seed: number) => {
      const clock = new VirtualClock({ seed });
      return Array.from({ length: 5 }, () => clock.random());
    };
    expect(draw(7)).toEqual(draw(7));
    expect(draw(7)).not.toEqual(draw(8));
    expect(draw(7).every((number) => number >= 0 && number < 1)).toBe(true);
  });
});
