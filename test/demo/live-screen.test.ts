import type { ReadStream } from 'node:tty';
import { expect, test } from 'vitest';
import type { KeyCommand } from '../../src/demo/frame.ts';
import { readKeys, showLive } from '../../src/demo/live-screen.ts';
import type { Host } from '../../src/support/host.ts';
import { settle } from '../support/virtual-clock.ts';
import { SimDemo } from './make-demo.ts';
import { makeState } from './make-state.ts';
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
  const end = showLive(demo.world, host, surroundings, stopping.signal).then(
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
    isGivenBack: () =>
      !terminal.isAlternate && terminal.isCursorShown && terminal.isWrapping && !keyboard.isRaw,
  };
}

test('the live view shows the first leader at once, and reacts to keys', async () => {
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
  expect(screen()).toMatch(/LeaseExpired: sample-2 leads after sample-3 under/);
  expect(isGivenBack()).toBe(false);
  await press('q');
  expect(await end).toBeUndefined();
  expect({ isGivenBack: isGivenBack(), undos: undos.size }).toEqual({ isGivenBack: true, undos: 0 });
});

test('the live view ends when the process is told to stop, even before its start', async () => {
  const stopping = new AbortController();
  stopping.abort('SIGTERM');
  const { end, isGivenBack, demo } = show({ stopping });
  expect(await end).toBeUndefined();
  expect(isGivenBack()).toBe(true);
  await demo.world.stop();
  await demo.clock.advance(10_000);
  expect(demo.connections.map(({ openWatches }) => openWatches)).toEqual(demo.connections.map(() => 0));
});

test('the live view restores the terminal when the process ends otherwise', async () => {
  const { demo, undos, isGivenBack, terminal } = show();
  await demo.clock.advance(100);
  expect(isGivenBack()).toBe(false);
  for (const undo of undos) undo();
  expect(isGivenBack()).toBe(true);
  const before = terminal.writes.length;
  for (const undo of undos) undo();
  await demo.clock.advance(1000);
  expect(terminal.writes).toHaveLength(before);
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

test('the live view writes nothing while nothing changes', async () => {
  const { demo, terminal } = show();
  await demo.clock.advance(0);
  demo.world.state = () => makeState();
  await demo.clock.advance(100);
  const before = terminal.writes.length;
  await demo.clock.advance(1000);
  expect(terminal.writes).toHaveLength(before);
});

test('the live view leaves no old text in a terminal that has become smaller', async () => {
  const { demo, terminal } = show();
  await demo.clock.advance(1000);
  terminal.columns = 40;
  terminal.rows = 12;
  await demo.clock.advance(100);
  expect(terminal.lines).toHaveLength(12);
  expect(terminal.lines[0]).toBe('Lease default/demo  LeaderOptimal');
  expect(terminal.lines.at(-1)).toBe('q quit');
});

test('the live view skips frames if the terminal is slow', async () => {
  const { demo, terminal, screen } = show();
  terminal.writableNeedDrain = true;
  await demo.clock.advance(1500);
  expect(screen()).not.toContain('leading');
  terminal.writableNeedDrain = false;
  await demo.clock.advance(100);
  expect(screen()).toContain('leading');
});

async function press(...texts: readonly string[]) {
  const keyboard = new SimKeyboard();
  const meanings: KeyCommand[] = [];
  const stop = readKeys(keyboard as unknown as ReadStream, (meaning) => meanings.push(meaning));
  for (const text of texts) {
    keyboard.write(text);
    await settle();
  }
  return { keyboard, meanings, stop };
}

test.each<{ text: string; name: string; want: readonly KeyCommand[] }>([
  { text: 'k', name: 'k', want: ['killLeader'] },
  { text: 'p', name: 'p', want: ['pauseOrResume'] },
  { text: 'o', name: 'o', want: ['addOlder'] },
  { text: 'c', name: 'c', want: ['conflictOrResolve'] },
  { text: 'r', name: 'r', want: ['restartCrashed'] },
  { text: 'q', name: 'q', want: ['quit'] },
  { text: 'K', name: 'K', want: ['killLeader'] },
  { text: '\x03', name: 'Ctrl-C', want: ['quit'] },
  { text: '\x04', name: 'Ctrl-D', want: ['quit'] },
  { text: '\x0b', name: 'Ctrl-K', want: [] },
  { text: '\x1bk', name: 'Alt-K', want: [] },
  { text: '\x1b[A', name: 'an arrow', want: [] },
  { text: 'x', name: 'any other', want: [] },
  { text: 'ko', name: 'k and o', want: ['killLeader', 'addOlder'] },
])('the key $name means $want', async ({ text, want }) => {
  expect((await press(text)).meanings).toEqual(want);
});

test('keys are read one by one, until reading stops', async () => {
  const { keyboard, meanings, stop } = await press('k');
  expect(keyboard.isRaw).toBe(true);
  stop();
  keyboard.write('o');
  await settle();
  expect({ meanings, isRaw: keyboard.isRaw, isPaused: keyboard.isPaused() }).toEqual({
    meanings: ['killLeader'],
    isRaw: false,
    isPaused: true,
  });
});
