import type { ScreenOutput } from '../../src/demo/live-screen.ts';

const ESCAPE = String.fromCharCode(0x1b);
const SEQUENCE = new RegExp(`${ESCAPE}\\[(\\??)([\\d;]*)([A-Za-z])|[^${ESCAPE}]`, 'gu');

/** A terminal as far as the live view uses one: it keeps what is shown, and knows no sequence that it need not. */
export class SimTerminal implements ScreenOutput {
  columns: number;
  rows: number;
  writableNeedDrain = false;
  isAlternate = false;
  isCursorShown = true;
  /** Every write, as it came. */
  readonly writes: string[] = [];
  readonly #resizeListeners = new Set<() => void>();
  #screen: string[][] = [];
  #styles = new Set<string>();
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** What is shown, without the blanks at the ends of lines. */
  get lines(): readonly string[] {
    return Array.from({ length: this.rows }, (_, row) => (this.#screen[row] ?? []).join('').trimEnd());
  }

  /** The codes by which characters were styled. */
  get styles(): ReadonlySet<string> {
    return this.#styles;
  }

  get listeners(): number {
    return this.#resizeListeners.size;
  }

  hasColors(): boolean {
    return true;
  }

  on(_event: 'resize', listener: () => void): void {
    this.#resizeListeners.add(listener);
  }

  off(_event: 'resize', listener: () => void): void {
    this.#resizeListeners.delete(listener);
  }

  /** Real ones leave on the screen whatever fits in some way. */
  resize(columns: number, rows: number): void {
    this.columns = columns;
    this.rows = rows;
    for (const listener of this.#resizeListeners) listener();
  }

  write(text: string): void {
    this.writes.push(text);
    for (const [whole, isPrivate, parameters = '', final = ''] of text.matchAll(SEQUENCE)) {
      if (final === '') this.#put(whole);
      else if (isPrivate) this.#setMode(parameters, final === 'h');
      else this.#control(parameters, final);
    }
  }

  #put(character: string): void {
    this.#screen[this.#row] ??= [];
    const line = this.#screen[this.#row] ?? [];
    if (this.#column >= this.columns || this.#row >= this.rows) {
      throw new Error(`written beyond the edge, at ${this.#row + 1};${this.#column + 1}`);
    }
    while (line.length < this.#column) line.push(' ');
    line[this.#column] = character;
    this.#column += 1;
  }

  #setMode(mode: string, isOn: boolean): void {
    if (mode === '1049') {
      this.isAlternate = isOn;
      this.#screen = [];
    } else if (mode === '25') this.isCursorShown = isOn;
    else throw new Error(`unknown mode ${mode}`);
  }

  #control(parameters: string, final: string): void {
    if (final === 'H') {
      const [row = 1, column = 1] = parameters.split(';').map(Number);
      this.#row = row - 1;
      this.#column = column - 1;
    } else if (final === 'K') this.#screen[this.#row]?.splice(this.#column);
    else if (final === 'J' && parameters === '2') this.#screen = [];
    else if (final === 'J') this.#screen.splice(this.#row);
    else if (final === 'm') this.#styles.add(parameters);
    else throw new Error(`unknown sequence ${final}`);
  }
}
