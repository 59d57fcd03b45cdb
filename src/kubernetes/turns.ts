interface Waiting {
  /** Undefined once it has given up. */
  go: (() => void) | undefined;
}

/**
 * Lets so many go on at once; the others wait for their turn, in the order in which they came. Whoever gives up has left
 * the line: undici would come to such a request all the same, and end the connection that it then has for it.
 */
export class Turns {
  #free: number;
  #line: Waiting[] = [];
  /** Before this index of the line everybody has had a turn. */
  #next = 0;

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Resolves to what ends the turn, once it has come. Rejects with the reason of `signal` when that aborts before. */
  async take(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    let isOver = false;
    return () => {
      if (!isOver) this.#pass();
      isOver = true;
    };
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
