/** Lines for one reader, as they are written; they end with `signal`. */
export class LineStream implements AsyncIterable<Uint8Array> {
  readonly #signal: AbortSignal | undefined;
  #waiting: Uint8Array[] = [];
  #wake = () => {};

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    signal?.addEventListener('abort', () => this.#wake(), { once: true });
  }

  write(line: string): void {
    this.#waiting.push(Buffer.from(`${line}\n`));
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    while (!this.#signal?.aborted) {
      const lines = this.#waiting;
      this.#waiting = [];
      yield* lines;
      if (this.#waiting.length > 0 || this.#signal?.aborted) continue;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
