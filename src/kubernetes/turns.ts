/**
 * Limits the number of requests in flight. Further requests wait in a queue, first in, first out. An aborted request
 * leaves the queue.
 */
export class Turns {
  #free: number;
  /** Functions that abort the background requests in flight, oldest first. */
  readonly #background = new Set<() => void>();
  /** Functions that start the waiting requests, in the order of their arrival. */
  readonly #waiting = new Set<() => void>();

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** True if a request could start at once, without waiting for another request to end. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /**
   * Waits for a turn: the permission to send one request. Resolves to the function that ends the turn; call it once.
   * Rejects with the reason of `signal` if `signal` aborts first.
   * @param giveWay aborts this request, so that a waiting request can start; only background requests have it
   */
  async take(signal: AbortSignal, giveWay?: () => void): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
    } else {
      this.#abortBackground();
      await this.#wait(signal);
    }
    if (giveWay) this.#background.add(giveWay);
    return () => {
      if (giveWay) this.#background.delete(giveWay);
      const [start] = this.#waiting;
      if (start) start();
      else this.#free++;
    };
  }

  /** Aborts the oldest background request, if there is one. The aborted request ends its own turn. */
  #abortBackground(): void {
    const [giveWay] = this.#background;
    if (!giveWay) return;
    this.#background.delete(giveWay);
    giveWay();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const start = () => {
        this.#waiting.delete(start);
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(start);
        reject(signal.reason);
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(start);
    });
  }
}
