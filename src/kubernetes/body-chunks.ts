import { finished, type Readable } from 'node:stream';

/** So many chunks may wait for whoever iterates before the server has to. */
const MOST_WAITING = 16;
const DONE: IteratorResult<Uint8Array> = { done: true, value: undefined };

/**
 * The body of an answer, chunk by chunk. The iteration of a Readable itself takes longer for a chunk than all that is done
 * about the event that is in it: it is told that there is something to read, reads that, and hands it through two
 * generators. Iterated once only; whoever leaves it ends the body.
 */
export class BodyChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #body: Readable;
  readonly #chunks: Uint8Array[] = [];
  #waiting: PromiseWithResolvers<IteratorResult<Uint8Array>> | undefined;
  #end: { readonly error: unknown } | undefined;

  /** `failure` makes of what the body fails with what the iteration throws. Nothing is read before that begins. */
  constructor(body: Readable, failure: (error: unknown) => Error) {
    this.#body = body;
    // Also told of what happened before it is asked; a failure that nobody iterates to is nobody's.
    finished(body, { writable: false }, (error) => {
      this.#end = { error: error ? failure(error) : undefined };
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting) this.#finish().then(waiting.resolve, waiting.reject);
    });
  }

  [Symbol.asyncIterator](): this {
    if (this.#body.listenerCount('data') === 0) this.#body.on('data', (chunk) => this.#take(chunk));
    return this;
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const value = this.#chunks.shift();
    if (value) {
      if (this.#chunks.length === 0 && this.#body.isPaused()) this.#body.resume();
      return Promise.resolve({ done: false, value });
    }
    if (this.#end) return this.#finish();
    this.#waiting = Promise.withResolvers();
    return this.#waiting.promise;
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#body.destroy();
    return DONE;
  }

  #take(value: Uint8Array): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) waiting.resolve({ done: false, value });
    else if (this.#chunks.push(value) >= MOST_WAITING) this.#body.pause();
  }

  /** A failure is thrown once. */
  async #finish(): Promise<IteratorResult<Uint8Array>> {
    const error = this.#end?.error;
    this.#end = { error: undefined };
    if (error !== undefined) throw error;
    return DONE;
  }
}
