import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Workqueue } from '../../../src/controller/queue/workqueue.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';

const key = fc.constantFrom('a', 'b', 'c');
const ms = fc.integer({ min: 0, max: 40 });

/** `finish` ends the processing that has run longest. */
const command = fc.oneof(
  fc.record({ do: fc.constant('add' as const), key }),
  fc.record({ do: fc.constant('addAfter' as const), key, ms }),
  fc.record({ do: fc.constant('requeue' as const), key, ms }),
  fc.record({ do: fc.constant('pass' as const), ms }),
  fc.record({ do: fc.constant('finish' as const) }),
);

/** A promise of the queue: a processing that begins after `asked` (in order of events), and not later than `due`. */
interface Wakeup {
  readonly key: string;
  readonly asked: number;
  readonly due: number;
}

interface Start {
  readonly key: string;
  readonly order: number;
  readonly at: number;
}

test('whatever happens in whatever order, no key is lost, none is processed twice at a time, and none comes early', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { maxLength: 60 }),
      fc.integer({ min: 1, max: 3 }),
      async (commands, workers) => {
        const clock = new VirtualClock();
        const queue = new Workqueue({ clock });
        const running = new Map<string, () => void>();
        const wakeups: Wakeup[] = [];
        const starts: Start[] = [];
        const failures: unknown[] = [];
        let order = 0;
        let finishing = false;
        void queue.run({
          workers,
          onError: (_, error) => {
            failures.push(error);
            return undefined;
          },
          process: async (started) => {
            expect(running.has(started)).toBe(false);
            starts.push({ key: started, order: order++, at: clock.now() });
            if (finishing) return;
            await new Promise<void>((resolve) => running.set(started, resolve));
            running.delete(started);
          },
        });
        for (const next of commands) {
          if (next.do === 'add') {
            wakeups.push({ key: next.key, asked: order++, due: clock.now() });
            queue.add(next.key);
          } else if (next.do === 'addAfter') {
            wakeups.push({ key: next.key, asked: order++, due: clock.now() + next.ms });
            queue.addAfter(next.key, next.ms);
          } else if (next.do === 'requeue' && running.has(next.key)) {
            wakeups.push({ key: next.key, asked: order++, due: clock.now() + next.ms });
            queue.requeue(next.key, clock.now() + next.ms);
          } else if (next.do === 'pass') {
            await clock.advance(next.ms);
          } else {
            running.values().next().value?.();
          }
          await settle();
          expect(running.size).toBeLessThanOrEqual(workers);
        }
        const blockedUntil = clock.now();
        finishing = true;
        for (const finish of [...running.values()]) finish();
        await clock.advance(1000);

        expect(failures).toEqual([]);
        for (const wakeup of wakeups) {
          const met = starts.find((start) => start.key === wakeup.key && start.order > wakeup.asked);
          expect(met).toBeDefined();
          // Once no worker was busy any more, nothing excuses a delay.
          expect(met?.at).toBeLessThanOrEqual(Math.max(wakeup.due, blockedUntil));
        }
        for (const start of starts) {
          // Every start was asked for, and the moment that was asked for has come.
          expect(
            wakeups.some(
              ({ key: asked, asked: before, due }) =>
                asked === start.key && before < start.order && due <= start.at,
            ),
          ).toBe(true);
        }
        expect({ timers: clock.pendingTimers, depth: queue.depth }).toEqual({ timers: 0, depth: 0 });
      },
    ),
    { seed: 4355, numRuns: 300 },
  );
});
