import { expect, test } from 'vitest';
import { LiveScreen } from '../../src/demo/live-screen.ts';
import { type StyledLine, span } from '../../src/demo/styled-line.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimTerminal } from './sim-terminal.ts';

function makeScreen({ hasColors = false }: { hasColors?: boolean } = {}) {
  const clock = new VirtualClock();
  const terminal = new SimTerminal(20, 4);
  const shown: { lines: readonly StyledLine[] } = { lines: [] };
  const screen = new LiveScreen({ output: terminal, clock, hasColors, render: () => shown.lines });
  const show = (...texts: readonly string[]) => {
    shown.lines = texts.map((text) => [span(text, 'good')]);
  };
  return { clock, terminal, screen, show };
}

test('the live screen shows the latest frame within a tenth of a second', async () => {
  const { clock, terminal, screen, show } = makeScreen();
  show('one', 'two');
  screen.open();
  expect(terminal.lines).toEqual(['one', 'two', '', '']);
  show('one more', 'two');
  await clock.advance(100);
  expect(terminal.lines).toEqual(['one more', 'two', '', '']);
  expect({ isAlternate: terminal.isAlternate, isCursorShown: terminal.isCursorShown }).toEqual({
    isAlternate: true,
    isCursorShown: false,
  });
});

test('the live screen writes nothing but the lines that differ', async () => {
  const { clock, terminal, screen, show } = makeScreen();
  show('one', 'two', 'three');
  screen.open();
  show('one', 'TWO', 'three');
  await clock.advance(100);
  expect(terminal.writes.at(-1)).toBe('\x1b[2;1HTWO\x1b[K');
  const before = terminal.writes.length;
  await clock.advance(1000);
  expect(terminal.writes).toHaveLength(before);
});

test('the live screen leaves nothing of a longer line or a longer frame', async () => {
  const { clock, terminal, screen, show } = makeScreen();
  show('a long line', 'two', 'three');
  screen.open();
  show('a', 'two');
  await clock.advance(100);
  expect(terminal.lines).toEqual(['a', 'two', '', '']);
});

test('the live screen draws everything anew when the terminal changes its size', () => {
  const { terminal, screen, show } = makeScreen();
  show('one', 'two');
  screen.open();
  show('in a smaller one');
  terminal.resize(16, 2);
  expect(terminal.lines).toEqual(['in a smaller one', '']);
});

test('the live screen skips frames while the terminal cannot keep up', async () => {
  const { clock, terminal, screen, show } = makeScreen();
  show('one');
  screen.open();
  terminal.writableNeedDrain = true;
  show('two');
  await clock.advance(500);
  expect(terminal.lines[0]).toBe('one');
  terminal.writableNeedDrain = false;
  await clock.advance(100);
  expect(terminal.lines[0]).toBe('two');
});

test('the live screen gives the terminal back as it was, once', async () => {
  const { clock, terminal, screen, show } = makeScreen();
  show('one');
  screen.open();
  screen.close();
  const before = terminal.writes.length;
  screen.close();
  show('two');
  await clock.advance(1000);
  expect(terminal.writes).toHaveLength(before);
  expect({
    isAlternate: terminal.isAlternate,
    isCursorShown: terminal.isCursorShown,
    listeners: terminal.listeners,
  }).toEqual({ isAlternate: false, isCursorShown: true, listeners: 0 });
});

test.each([
  { hasColors: true, want: ['0', '32', '39'] },
  { hasColors: false, want: ['0'] },
])('the live screen styles its text if colours are wanted: $hasColors', ({ hasColors, want }) => {
  const { terminal, screen, show } = makeScreen({ hasColors });
  show('one');
  screen.open();
  screen.close();
  expect([...terminal.styles].sort()).toEqual(want);
});
