interface Waiting {
  /** Undefined once it has given up. */
  go: (() => void) | undefined;
}

/**
 * Lets so many requests run at once. The others wait for their turn, in the order in which they came. A request that gives up
 * has left the line: undici would come to it all the same, and end the connection that it then has for it.
 */
export class Turns {
  #free: number;
  /** Aborts each request in the background that runs, the oldest first. */
  readonly #background = new Set<() => void>();
  #line: Waiting[] = [];
  /** Before this index of the line everybody has had a turn. */
  #next = 0;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Whether a request would have its turn at once, without the end of another. */
  get isFree(): boolean {
    return this.#free > 0;
  }

  /**
   * Resolves to what ends the turn, once it has come. Rejects with the reason of `signal` when that aborts before.
   *
   * @param giveWay of a request in the background: aborts it, as another request waits for its turn
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
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (giveWay) this.#background.delete(giveWay);
      this.#pass();
    };
  }

  /** One for each request that has to wait: it ends its turn by itself. */
  #abortBackground(): void {
    const [giveWay] = this.#background;
    if (!giveWay) return;
    this.#background.delete(giveWay);
    giveWay();
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        waiting.go = undefined;
        reject(signal.reason);
      };
      const waiting: Waiting = {
        go() {
          signal.removeEventListener('abort', giveUp);
          resolve();
        },
      };
      signal.addEventListener('abort', giveUp, { once: true });
      this.#line.push(waiting);
    });
  }

  /** Hands a turn that is over to the next in line. */
  #pass(): void {
    for (;;) {
      const next = this.#line[this.#next];
      if (!next) break;
      this.#next++;
      if (this.#next * 2 > this.#line.length) this.#shorten();
      if (next.go) {
        next.go();
        return;
      }
    }
    this.#free++;
  }

  /** Never more than as often as there are entries to drop: each costs the same, however long the line. */
  #shorten(): void {
    this.#line = this.#line.slice(this.#next);
    this.#next = 0;
  }
}
