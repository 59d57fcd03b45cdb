const ESCAPE = String.fromCharCode(0x1b);
const SEQUENCE = new RegExp(`${ESCAPE}\\[(\\??)([\\d;]*)([A-Za-z])|[^${ESCAPE}]`, 'gu');

/** A terminal with the features of the live view: it keeps the shown text, and supports no other escape sequences. */
export class SimTerminal {
  columns: number;
  rows: number;
  writableNeedDrain = false;
  isAlternate = false;
  isCursorShown = true;
  /** Whether it wraps long lines; otherwise it truncates them. */
  isWrapping = true;
  /** Every write, unchanged. */
  readonly writes: string[] = [];
  #screen: string[][] = [];
  #styles = new Set<string>();
  #row = 0;
  #column = 0;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
  }

  /** The shown text, without blanks at the ends of lines. */
  get lines(): readonly string[] {
    return Array.from({ length: this.rows }, (_, row) => (this.#screen[row] ?? []).join('').trimEnd());
  }

  /** The style codes of characters. */
  get styles(): ReadonlySet<string> {
    return this.#styles;
  }

  hasColors(): boolean {
    return true;
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
    if (character === '\r') this.#column = 0;
    else if (character === '\n') this.#row += 1;
    else if (this.#row >= this.rows) throw new Error(`written beyond the last row: ${character}`);
    else if (this.#column < this.columns) {
      this.#line[this.#column] = character;
      this.#column += 1;
    }
  }

  get #line(): string[] {
    const line = this.#screen[this.#row] ?? [];
    this.#screen[this.#row] = line;
    return line;
  }

  #setMode(mode: string, isOn: boolean): void {
    if (mode === '1049') {
      this.isAlternate = isOn;
      this.#screen = [];
    } else if (mode === '25') this.isCursorShown = isOn;
    else if (mode === '7') this.isWrapping = isOn;
    else throw new Error(`unknown mode ${mode}`);
  }

  #control(parameters: string, final: string): void {
    if (final === 'H') {
      this.#row = 0;
      this.#column = 0;
    } else if (final === 'K' && parameters === '2') this.#line.length = 0;
    else if (final === 'J') this.#screen.splice(this.#row + 1);
    else if (final === 'm') this.#styles.add(parameters);
    else throw new Error(`unknown sequence ${final}`);
  }
}
