import { expect, test } from 'vitest';
import { showLive } from '../../src/demo/show-live.ts';
import type { Host } from '../../src/support/host.ts';
import { settle } from '../support/virtual-clock.ts';
import { SimDemo } from './make-demo.ts';
import { SimKeyboard } from './sim-keyboard.ts';
import { SimTerminal } from './sim-terminal.ts';

/** The live view of a simulated world, in a simulated terminal. */
function show({ env = {}, stopping = new AbortController() } = {}) {
  const demo = new SimDemo();
  const [terminal, keyboard] = [new SimTerminal(80, 24), new SimKeyboard()];
  const undos = new Set<() => void>();
  const host = {
    clock: demo.clock,
    env,
    stdin: keyboard,
    stdout: terminal,
    beforeExit(undo: () => void) {
      undos.add(undo);
      return () => undos.delete(undo);
    },
  } as unknown as Host;
  const surroundings = { address: 'http://127.0.0.1:1/', hints: ['a hint'] };
  const end = showLive({ world: demo.world, host, surroundings, stop: stopping.signal }).then(
    () => undefined,
    (error: unknown) => error,
  );
  return {
    demo,
    terminal,
    undos,
    end,
    async press(key: string) {
      keyboard.write(key);
      await settle();
    },
    screen: () => terminal.lines.join('\n'),
    isGivenBack: () => !terminal.isAlternate && terminal.isCursorShown && !keyboard.isRaw,
  };
}

test('the live view shows the first leader at once, and does what keys ask for', async () => {
  const { demo, press, screen, end, isGivenBack, undos } = show();
  await demo.clock.advance(300);
  expect(screen()).toMatch(/holder sample-3 .*\n\[#+\.*\] {2}\d\.\d s of 4\.0 s left/);
  await demo.clock.advance(1200);
  expect(screen()).toMatch(/\* sample-3 +1\.35\.0 +1\.35\.0 +leading\n/);
  await press('k');
  await demo.clock.advance(100);
  expect(screen()).toMatch(/\* sample-3 .* crashed\n/);
  await demo.clock.advance(6000);
  expect(screen()).toMatch(/\* sample-2 .* leading\n/);
  expect(screen()).toMatch(/LeaseExpired: sample-2 gets the Lease; not sample-1/);
  expect(isGivenBack()).toBe(false);
  await press('q');
  expect(await end).toBeUndefined();
  expect({ isGivenBack: isGivenBack(), undos: undos.size }).toEqual({ isGivenBack: true, undos: 0 });
});

test('the live view ends when the process is told to stop, even before it has begun', async () => {
  const stopping = new AbortController();
  stopping.abort('SIGTERM');
  const { end, isGivenBack, demo } = show({ stopping });
  expect(await end).toBeUndefined();
  expect(isGivenBack()).toBe(true);
  await demo.world.stop();
  await demo.clock.advance(10_000);
  expect(demo.connections.map(({ openWatches }) => openWatches)).toEqual(demo.connections.map(() => 0));
});

test('the live view gives the terminal back when the process ends otherwise', async () => {
  const { demo, undos, isGivenBack } = show();
  await demo.clock.advance(100);
  expect(isGivenBack()).toBe(false);
  for (const undo of undos) undo();
  expect(isGivenBack()).toBe(true);
});

test.each([
  { env: {}, want: true },
  { env: { NO_COLOR: '1' }, want: false },
  { env: { NO_COLOR: '' }, want: true },
])('the live view has colours with $env: $want', async ({ env, want }) => {
  const { demo, terminal } = show({ env });
  await demo.clock.advance(300);
  expect(terminal.styles.has('32')).toBe(want);
});
