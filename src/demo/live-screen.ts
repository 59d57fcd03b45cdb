import { styleText } from 'node:util';
import type { Clock } from '../support/clock.ts';
import type { FrameSize } from './frame.ts';
import { type Span, type Style, type StyledLine, textOf } from './styled-line.ts';

/** A terminal that is written to. */
export interface ScreenOutput {
  readonly columns: number;
  readonly rows: number;
  readonly writableNeedDrain: boolean;
  write(text: string): unknown;
  on(event: 'resize', listener: () => void): unknown;
  off(event: 'resize', listener: () => void): unknown;
}

/** What a {@link LiveScreen} needs. */
export interface LiveScreenParts {
  readonly output: ScreenOutput;
  readonly clock: Clock;
  readonly hasColors: boolean;
  readonly render: (size: FrameSize) => readonly StyledLine[];
}

/** How often the screen is drawn anew at the most, in milliseconds; a bar that runs out moves evenly with it. */
const FRAME_MS = 100;
const ESC = '\x1b[';
// Another screen, so that what was there before is there again afterwards; no cursor that jumps about.
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

/** Shows frames in a terminal, in place: of each frame only the lines that differ from the one before are written. */
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

  /** Gives the terminal back as it was; the first call counts. Synchronous, as a process that crashes has no more time. */
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
    // A slow terminal gets fewer frames, not a backlog of them.
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

function paint(line: StyledLine): string {
  return line.map(paintSpan).join('');
}

function paintSpan({ text, style }: Span): string {
  // Whether the terminal has colours was asked before: of the one that is drawn on, which need not be the process's own.
  return style === undefined ? text : styleText(FORMATS[style], text, { validateStream: false });
}
