import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import { type Host, untilAborted } from '../support/host.ts';
import type { DemoWorld } from './demo-world.ts';
import { type FrameSurroundings, KEYS, type KeyCommand, renderFrame } from './frame.ts';

/** Interval between two frames, in ms. Short, so that the bar that shows the Lease's remaining time shrinks smoothly. */
const FRAME_MS = 100;

// ENTER switches to the alternate screen, hides the cursor, and makes the terminal cut long lines. LEAVE undoes all
// this, which also restores the former content of the screen.
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l';
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l';
const TO_START = '\x1b[H';
const CLEAR_LINE = '\x1b[2K';
const CLEAR_BELOW = '\x1b[J';

/** Starts the demo world, and shows it until the user quits or `stop` aborts. Rejects if the start or a command fails. */
export async function showLive(
  world: DemoWorld,
  { stdin, stdout, clock, env, beforeExit }: Host,
  surroundings: FrameSurroundings,
  stop: AbortSignal,
): Promise<void> {
  const over = Promise.withResolvers<void>();
  const hasColors = !env['NO_COLOR'] && stdout.hasColors();
  let shown = '';
  let cancelTimer = () => {};

  const draw = () => {
    cancelTimer = clock.setTimer(draw, FRAME_MS);
    // Skip this frame if the terminal has not taken the previous output yet.
    if (stdout.writableNeedDrain) return;
    const { columns, rows } = stdout;
    const lines = renderFrame(world.state(), surroundings, { columns, rows });
    const text = lines
      .map((line) => CLEAR_LINE + (hasColors ? line : stripVTControlCharacters(line)))
      .join('\r\n');
    // Include the size, to draw again after a resize: the terminal may have moved the old frame.
    const frame = `${columns} ${rows} ${text}`;
    if (frame !== shown) stdout.write(`${TO_START}${text}${CLEAR_BELOW}`);
    shown = frame;
  };
  const forgetKeys = readKeys(stdin, (command) => {
    if (command === 'quit') over.resolve();
    else world.commands[command]().catch(over.reject);
  });
  // Restores the terminal. The function is synchronous, so that it also works during a crash. It first
  // unregisters itself from `beforeExit`, because a second call would move the cursor over an error message.
  const leave = () => {
    forgetExit();
    cancelTimer();
    forgetKeys();
    stdout.write(LEAVE);
  };
  const forgetExit = beforeExit(leave);
  try {
    stdout.write(ENTER);
    draw();
    const end = Promise.race([over.promise, untilAborted(stop)]);
    await Promise.race([end, world.start().then(() => end)]);
  } finally {
    leave();
  }
}

/** Calls `onKey` when the user presses a known key, until the returned function is called. */
export function readKeys(input: ReadStream, onKey: (command: KeyCommand) => void): () => void {
  const onKeypress = (_text: string | undefined, { name = '', ctrl, meta }: Key) => {
    // In raw mode, Ctrl+C sends no signal and Ctrl+D does not end the input, so handle these keys here.
    const isEnd = ctrl && (name === 'c' || name === 'd');
    const command = isEnd ? 'quit' : ctrl || meta ? undefined : KEYS[name]?.command;
    if (command) onKey(command);
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
