import { ConnectionError } from './errors.ts';

const NEWLINE = 0x0a;

/**
 * Cuts a stream of bytes into lines. It works on bytes, so that a character split between two chunks is whole again
 * before it is decoded. What follows the last newline is kept for the next chunk; at the end of a stream it is a
 * truncated line and simply never comes out.
 */
export class LineSplitter {
  readonly #maxLineBytes: number;
  #partial: Uint8Array[] = [];
  #partialBytes = 0;

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /**
   * The lines that `chunk` completes, without their newlines; empty ones are left out. Throws a {@link ConnectionError}
   * (`MALFORMED_ANSWER`) when a line gets longer than allowed.
   */
  push(chunk: Uint8Array): string[] {
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#append(chunk.subarray(start, end));
      const line = this.#whole().toString('utf8').trim();
      if (line !== '') lines.push(line);
      this.#partial = [];
      this.#partialBytes = 0;
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  /** Most lines come in one chunk, and need not be copied. */
  #whole(): Buffer {
    const [only] = this.#partial;
    if (only === undefined || this.#partial.length > 1) return Buffer.concat(this.#partial);
    return Buffer.from(only.buffer, only.byteOffset, only.byteLength);
  }

  #append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#partialBytes += bytes.length;
    if (this.#partialBytes > this.#maxLineBytes) {
      throw new ConnectionError(`a line of the watch is longer than ${this.#maxLineBytes} bytes`, {
        code: 'MALFORMED_ANSWER',
      });
    }
    this.#partial.push(bytes);
  }
}
