import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream } from 'node:tty';
import type { DemoCommands } from './sample-cast.ts';

/** What a key asks for. */
export type KeyMeaning = keyof DemoCommands | 'quit';

const MEANINGS: Readonly<Record<string, KeyMeaning>> = {
  k: 'killLeader',
  p: 'pauseOrResume',
  o: 'addOlder',
  c: 'conflictOrResolve',
  r: 'restartCrashed',
  q: 'quit',
};

/** What a key asks for; undefined for all those that mean nothing. */
function meaningOf({ name, ctrl, meta }: Key): KeyMeaning | undefined {
  // In raw mode the terminal makes no signals of these any more.
  if (ctrl) return name === 'c' || name === 'd' ? 'quit' : undefined;
  return meta || name === undefined ? undefined : MEANINGS[name];
}

/** Calls back for each key that means something, until the returned function is called. */
export function readKeys(input: ReadStream, onKey: (meaning: KeyMeaning) => void): () => void {
  const onKeypress = (_text: string | undefined, key: Key) => {
    const meaning = meaningOf(key);
    if (meaning) onKey(meaning);
  };
  emitKeypressEvents(input);
  input.setRawMode(true);
  input.on('keypress', onKeypress);
  input.resume();
  return () => {
    input.off('keypress', onKeypress);
    input.setRawMode(false);
    input.pause();
  };
}
