const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** What comes before the items of a list. */
const BEFORE_ITEMS = /(?<!\\)"items"\s*:\s*$/;
/** In the list, and in its items. */
const LIST = 1;
const ITEMS = 2;

/**
 * Cuts the JSON of a list into its items and what it says beside them, as it arrives. It works on bytes, so that a character
 * split between two chunks is whole again before it is decoded, and finds only where values begin and end: whether they are
 * JSON, their parser says.
 */
export class ListSplitter {
  /** Of the list, without the items. */
  readonly #rest: Uint8Array[] = [];
  /** The beginning of an item. */
  #partial: Uint8Array[] = [];
  #place: 'before items' | 'in items' | 'after items' = 'before items';
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  /** The items that `chunk` completes, as JSON with a comma between each two; empty if it completes none. */
  push(chunk: Uint8Array): string {
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    let items = '';
    let start = 0;
    let lastComma = -1;
    // In variables: this looks at each byte of megabytes.
    let [depth, isText, isEscaped] = [this.#depth, this.#isText, this.#isEscaped];
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at];
      if (isText) {
        if (isEscaped) isEscaped = false;
        else if (byte === BACKSLASH) isEscaped = true;
        else if (byte === QUOTE) isText = false;
      } else if (byte === QUOTE) {
        isText = true;
      } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
        depth += 1;
        if (depth !== ITEMS || byte === OPENING_BRACE || this.#place !== 'before items') continue;
        if (!BEFORE_ITEMS.test(`${this.rest}${bytes.toString('utf8', start, at)}`)) continue;
        this.#place = 'in items';
        this.#rest.push(bytes.subarray(start, at + 1));
        start = at + 1;
      } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) {
        depth -= 1;
        if (depth !== LIST || this.#place !== 'in items') continue;
        this.#place = 'after items';
        items = this.#complete(bytes.subarray(start, at)).trim();
        start = at;
      } else if (byte === COMMA && depth === ITEMS) {
        lastComma = at;
      }
    }
    [this.#depth, this.#isText, this.#isEscaped] = [depth, isText, isEscaped];
    if (this.#place !== 'in items') {
      this.#rest.push(bytes.subarray(start));
    } else {
      if (lastComma >= start) {
        items = this.#complete(bytes.subarray(start, lastComma));
        start = lastComma + 1;
      }
      this.#partial.push(bytes.subarray(start));
    }
    return items;
  }

  /** The list as far as it has come, without the items that came out. */
  get rest(): string {
    return Buffer.concat(this.#rest).toString('utf8');
  }

  /** Most items come in one chunk, and need not be copied. */
  #complete(end: Buffer): string {
    if (this.#partial.length === 0) return end.toString('utf8');
    const whole = Buffer.concat([...this.#partial, end]).toString('utf8');
    this.#partial = [];
    return whole;
  }
}
