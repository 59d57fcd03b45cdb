import type { ReadStream } from 'node:tty';
import { expect, test } from 'vitest';
import { type KeyMeaning, readKeys } from '../../src/demo/keys.ts';
import { settle } from '../support/virtual-clock.ts';
import { SimKeyboard } from './sim-keyboard.ts';

async function press(...texts: readonly string[]) {
  const keyboard = new SimKeyboard();
  const meanings: KeyMeaning[] = [];
  const stop = readKeys(keyboard as unknown as ReadStream, (meaning) => meanings.push(meaning));
  for (const text of texts) {
    keyboard.write(text);
    await settle();
  }
  return { keyboard, meanings, stop };
}

test.each<{ text: string; name: string; want: readonly KeyMeaning[] }>([
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

test('keys are read one by one, until they are not any more', async () => {
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
