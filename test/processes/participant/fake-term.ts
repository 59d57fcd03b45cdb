import { type Term, type TermEnd, TermOver } from '../../../src/participant/term.ts';
import type { Clock } from '../../../src/support/clock.ts';
import { systemClock } from '../../../src/support/system-clock.ts';

/** A term that lasts until the test ends it. */
export class FakeTerm implements Term {
  readonly lease = { namespace: 'default', name: 'web' };
  readonly holder = 'web-1';
  readonly fencingToken = 7;
  readonly #over = new AbortController();
  readonly #clock: Clock;
  #lapsesAt: number;

  constructor(lastsMs = 60_000, clock: Clock = systemClock) {
    this.#clock = clock;
    this.#lapsesAt = clock.now() + lastsMs;
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  remainingMs(): number {
    return Math.max(0, this.#lapsesAt - this.#clock.now());
  }

  /** The term is over. No other program can lead for this long. */
  end(why: TermEnd, leftMs = this.remainingMs()): void {
    this.#lapsesAt = this.#clock.now() + leftMs;
    this.#over.abort(new TermOver(why));
  }
}
