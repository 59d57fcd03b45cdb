import { describe, expect, test } from 'vitest';
import { Slices, type Steps } from '../../src/support/event-loop.ts';
import { VirtualClock } from './virtual-clock.ts';

/** Each read of it takes a millisecond, so that the time of work can be counted. */
class TickingClock extends VirtualClock {
  #ticks = 0;
  override readonly now = (): number => {
    this.#ticks += 1;
    return this.#ticks;
  };
}

function* steps(count: number, onStep: (step: number) => void = () => {}): Steps<number> {
  for (let step = 0; step < count; step += 1) {
    onStep(step);
    yield;
  }
  return count;
}

describe('work in slices', () => {
  test('is done at once if it is little', () => {
    expect(new Slices(new TickingClock()).run(steps(3))).toBe(3);
  });

  test('lets other work run after some steps each', async () => {
    const clock = new TickingClock();
    let done = 0;
    let turns = 0;
    let most = 0;
    const running = new Slices(clock).run(
      steps(100, () => {
        done += 1;
        most = Math.max(most, done);
      }),
    );
    const otherwise = () => {
      turns += 1;
      done = 0;
      if (turns < 100) clock.setTimer(otherwise, 0);
    };
    clock.setTimer(otherwise, 0);
    await clock.advance(1);
    expect(await running).toBe(100);
    expect(turns).toBe(100);
    expect(most).toBeLessThanOrEqual(10);
  });

  test('takes turns, for any amount', async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    function* resting(name: string): Steps<void> {
      for (let step = 0; step < 3; step += 1) {
        order.push(name);
        yield 'rest';
      }
    }
    const slices = new Slices(clock);
    const all = ['a', 'b', 'c'].map((name) => slices.run(resting(name)));
    await clock.advance(1);
    await Promise.all(all);
    expect(order.join('')).toBe('abcabcabc');
  });

  test('fails like work without slices', async () => {
    function* failing(): Steps<void> {
      yield 'rest';
      throw new Error('wrong');
    }
    const clock = new VirtualClock();
    const rejection = expect(new Slices(clock).run(failing())).rejects.toThrow('wrong');
    await clock.advance(1);
    await rejection;
  });
});
