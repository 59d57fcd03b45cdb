import type { Readable } from 'node:stream';
import { isJsonObject, type JsonObject } from '../support/json.ts';
import { type Call, connectionError } from './errors.ts';

/** Takes some items of a list. The client reads the next items only after the returned promise has resolved. */
export type TakeItems = (items: readonly unknown[]) => void | Promise<void>;

/** Returns the answer's JSON object. Throws a {@link ConnectionError} (`MALFORMED_ANSWER`) for any other text. */
export function parseAnswer(call: Call, text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch (cause) {
    throw connectionError(call, 'MALFORMED_ANSWER', 'the answer is not JSON', { cause });
  }
  throw connectionError(call, 'MALFORMED_ANSWER', 'the answer is not a JSON object');
}

/** Passes the items of a list to `take` as they arrive. Resolves to the list without its items. */
export async function readList(
  call: Call,
  chunks: AsyncIterable<Uint8Array>,
  take: TakeItems,
): Promise<JsonObject> {
  const splitter = new ListSplitter();
  for await (const chunk of chunks) {
    const items = splitter.push(chunk);
    if (items !== '') await take(parseAnswer(call, `{"items":[${items}]}`)['items'] as readonly unknown[]);
  }
  return parseAnswer(call, splitter.rest);
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPENING_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSING_BRACKET = 0x5d;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;

/** Matches text that ends right before the opening bracket of the `items` of a list. */
const BEFORE_ITEMS = /(?<!\\)"items"\s*:\s*$/;
/** The value of `depth` directly inside of the list object, and directly inside of its `items` array. */
const LIST = 1;
const ITEMS = 2;

/**
 * Splits the JSON of a list into its items and the rest, as it arrives. Works on bytes, because a character may be
 * split between two chunks. The splitter finds only where values begin and end. `JSON.parse` validates them later.
 */
export class ListSplitter {
  readonly #rest: Uint8Array[] = [];
  #partial: Uint8Array[] = [];
  #place: 'before items' | 'in items' | 'after items' = 'before items';
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  /** Returns the items that end in `chunk`, separated by commas, or ''. An item ends at the `,` or `]` after it. */
  push(chunk: Uint8Array): string {
    const bytes = asBuffer(chunk);
    let items = '';
    let start = 0;
    let lastComma = -1;
    // Use local variables, because they are faster: the loop reads each byte, and a list has megabytes.
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

  /** The JSON that has arrived so far, without the items of the list. */
  get rest(): string {
    return Buffer.concat(this.#rest).toString('utf8');
  }

  /** Returns the finished items: `#partial`, from earlier chunks, followed by `end`. Empties `#partial`. */
  #complete(end: Buffer): string {
    const whole = Buffer.concat([...this.#partial, end]).toString('utf8');
    this.#partial = [];
    return whole;
  }
}

/**
 * Yields the chunks of a body. If the caller stops iterating early, closes the connection. `failure` converts an error
 * of the body to the error to throw.
 */
export async function* readChunks(
  body: Readable,
  failure: (error: unknown) => Error,
): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of body) yield chunk;
  } catch (error) {
    throw failure(error);
  }
}

/** Returns a Buffer with the same memory, not a copy. */
export function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}
