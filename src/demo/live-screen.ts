import { emitKeypressEvents, type Key } from 'node:readline';
import type { ReadStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Clock } from '../support/clock.ts';
import { type Host, untilAborted } from '../support/host.ts';
import type { DemoWorld } from './demo-world.ts';
import {
  type FrameSize,
  type FrameSurroundings,
  renderFrame,
  type Span,
  type Style,
  type StyledLine,
  textOf,
} from './frame.ts';
import type { DemoCommands } from './sample-cast.ts';

interface LiveParts {
  readonly world: DemoWorld;
  readonly host: Host;
  readonly surroundings: FrameSurroundings;
  readonly stop: AbortSignal;
}

/** Starts the world and shows it in the terminal until the user quits or `stop` aborts. */
export async function showLive({ world, host, surroundings, stop }: LiveParts): Promise<void> {
  const { stdin, stdout, clock, env } = host;
  const over = Promise.withResolvers<void>();

  const screen = new LiveScreen({
    output: stdout,
    clock,
    hasColors: !env['NO_COLOR'] && stdout.hasColors(),
    render: (size) => renderFrame(world.state(), surroundings, size),
  });
  const forgetKeys = readKeys(stdin, (meaning) => obey(world, meaning, over));
  const leaveTerminal = () => {
    forgetKeys();
    screen.close();
  };
  const forgetExit = host.beforeExit(leaveTerminal);
  try {
    screen.open();
    const end = Promise.race([over.promise, untilAborted(stop)]);
    await Promise.race([end, world.start().then(() => end)]);
  } finally {
    leaveTerminal();
    forgetExit();
  }
}

/** The output of a terminal. */
export interface ScreenOutput {
  readonly columns: number;
  readonly rows: number;
  readonly writableNeedDrain: boolean;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

interface LiveScreenParts {
  readonly output: ScreenOutput;
  readonly clock: Clock;
  readonly hasColors: boolean;
  readonly render: (size: FrameSize) => readonly StyledLine[];
}

/** Minimum interval of frames, in milliseconds. Bars shrink smoothly at this rate. */
const FRAME_MS = 100;
const ESC = '\x1b[';

// The alternate screen, so that the former content is restored at the end. Hides the cursor.
const ENTER = `${ESC}?1049h${ESC}?25l${ESC}2J`;
const LEAVE = `${ESC}0m${ESC}?25h${ESC}?1049l`;

const FORMATS: Readonly<Record<Style, Parameters<typeof styleText>[0]>> = {
  title: ['bold', 'cyan'],
  strong: 'bold',
  dim: 'dim',
  good: 'green',
  warning: 'yellow',
  bad: 'red',
};

/** Draws frames in place. Only the lines that have changed are written. */
export class LiveScreen {
  readonly #parts: LiveScreenParts;
  #shown: readonly string[] = [];
  #cancelTimer: () => void = () => {};
  #isOpen = false;

  constructor(parts: LiveScreenParts) {
    this.#parts = parts;
  }

  open(): void {
    const { output } = this.#parts;
    this.#isOpen = true;
    output.write(ENTER);
    output.on('resize', this.#redrawAll);
    this.#tick();
  }

  /** Restores the terminal, once. It is synchronous, so that it works during a crash. */
  readonly close = (): void => {
    if (!this.#isOpen) return;
    const { output } = this.#parts;
    this.#isOpen = false;
    this.#cancelTimer();
    output.off('resize', this.#redrawAll);
    output.write(LEAVE);
  };

  readonly #redrawAll = (): void => {
    this.#shown = [];
    this.#parts.output.write(`${ESC}2J`);
    this.#draw();
  };

  #tick(): void {
    this.#draw();
    this.#cancelTimer = this.#parts.clock.setTimer(() => this.#tick(), FRAME_MS);
  }

  #draw(): void {
    const { output, render, hasColors } = this.#parts;
    // Skip frames while the terminal is slow.
    if (output.writableNeedDrain) return;
    const { columns, rows } = output;
    const lines = render({ columns, rows }).map((line) => (hasColors ? paint(line) : textOf(line)));
    const changed = lines.flatMap((line, index) =>
      line === this.#shown[index] ? [] : [`${ESC}${index + 1};1H${line}${ESC}K`],
    );
    if (this.#shown.length > lines.length) changed.push(`${ESC}${lines.length + 1};1H${ESC}J`);
    this.#shown = lines;
    if (changed.length > 0) output.write(changed.join(''));
  }
}

export type KeyMeaning = keyof DemoCommands | 'quit';

const MEANINGS: Readonly<Record<string, KeyMeaning>> = {
  k: 'killLeader',
  p: 'pauseOrResume',
  o: 'addOlder',
  c: 'conflictOrResolve',
  r: 'restartCrashed',
  q: 'quit',
};

/** Calls `onKey` for each known key, until the returned function is called. */
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

function obey(
  { commands }: DemoWorld,
  meaning: KeyMeaning,
  over: Pick<PromiseWithResolvers<void>, 'resolve' | 'reject'>,
): void {
  if (meaning === 'quit') over.resolve();
  else commands[meaning]().catch(over.reject);
}

function paint(line: StyledLine): string {
  return line.map(paintSpan).join('');
}

function paintSpan({ text, style }: Span): string {
  // The caller has checked that colours are allowed. styleText() would check the stream of this process, which may be
  // another one.
  return style === undefined ? text : styleText(FORMATS[style], text, { validateStream: false });
}

/** Returns the command of a key; undefined for other keys. */
function meaningOf({ name, ctrl, meta }: Key): KeyMeaning | undefined {
  // In raw mode these keys send no signals.
  if (ctrl) return name === 'c' || name === 'd' ? 'quit' : undefined;
  return meta || name === undefined ? undefined : MEANINGS[name];
}
