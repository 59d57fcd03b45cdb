import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Fifo } from '../../../src/controller/queue/fifo.ts';

test('what was put in first comes out first, whatever was taken out and put in between', () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.nat() },
    { weight: 4, arbitrary: fc.constant('shift' as const) },
    { weight: 1, arbitrary: fc.constant('clear' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const fifo = new Fifo<number>();
      let plain: number[] = [];
      for (const step of steps) {
        if (step === 'shift') expect(fifo.shift()).toBe(plain.shift());
        else if (step === 'clear') {
          fifo.clear();
          plain = [];
        } else {
          fifo.push(step);
          plain.push(step);
        }
        expect(fifo.size).toBe(plain.length);
      }
    }),
  );
});
