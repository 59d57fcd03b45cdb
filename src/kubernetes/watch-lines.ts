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
    const bytes = Buffer.isBuffer(chunk)
      ? chunk
      : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
      const line = this.#line(bytes, start, end).trim();
      if (line !== '') lines.push(line);
      start = end + 1;
    }
    if (start < bytes.length) this.#append(bytes.subarray(start));
    return lines;
  }

  /** What ends at `end`. Most lines come in one chunk, and need not be copied. */
  #line(bytes: Buffer, start: number, end: number): string {
    if (this.#partial.length === 0) {
      this.#assertShort(end - start);
      return bytes.toString('utf8', start, end);
    }
    this.#append(bytes.subarray(start, end));
    const whole = Buffer.concat(this.#partial);
    this.#partial = [];
    this.#partialBytes = 0;
    return whole.toString('utf8');
  }

  #append(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#partialBytes += bytes.length;
    this.#assertShort(this.#partialBytes);
    this.#partial.push(bytes);
  }

  #assertShort(bytes: number): void {
    if (bytes > this.#maxLineBytes) {
      throw new ConnectionError(`a line of the watch is longer than ${this.#maxLineBytes} bytes`, {
        code: 'MALFORMED_ANSWER',
      });
    }
  }
}
