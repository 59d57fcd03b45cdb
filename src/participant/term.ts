import { type Clock, type Instant, SAFE_SHARE } from '../support/clock.ts';

/** One period of leadership. It begins when the API server confirms the first renewal of the Lease in this period. */
export interface Term {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The identity of the leader. */
  readonly holder: string;
  /**
   * The Lease's leaseTransitions in this term. It is greater than in all earlier terms, unless the Lease was deleted or
   * restored from a backup. The leader sends this token with each write to a store. A store that has already seen a
   * greater token can reject the write, because a former leader has sent it.
   */
  readonly fencingToken: number;
  /** Aborts when the program must stop leading. The reason is a {@link TermOver}. */
  readonly signal: AbortSignal;
  /**
   * Returns the remaining time in which no other candidate can lead, in milliseconds. This time ends when 90 % of the
   * Lease's duration have passed since the last successful renewal was sent; the rest is a reserve for clocks that run
   * at different speeds. A blocked event loop may delay `signal`, but does not extend this time. Returns 0 after the
   * elector has seen that the Lease no longer belongs to this term, and after the {@link Lead} function has ended.
   */
  remainingMs(): number;
}

/**
 * Why a term is over.
 * - `yielded`: the Lease names another candidate as its preferredHolder.
 * - `resigned`: the program called `resign` or `withdraw`.
 * - `stopped`: the participant was stopped, or the program's {@link Lead} function has ended by itself.
 * - `lost`: the Lease was not renewed in time, or no longer belongs to this term: the Lease has another holder or no
 *   holder, or another client has increased leaseTransitions.
 */
export type TermEnd = 'yielded' | 'resigned' | 'stopped' | 'lost';

/** The reason with which a {@link Term}'s signal aborts. */
export class TermOver extends Error {
  override readonly name = 'TermOver';
  readonly why: TermEnd;

  constructor(why: TermEnd) {
    super(`the term is over: ${why}`);
    this.why = why;
  }
}

/** The work of a program while it leads. The work must end soon after the term's signal has aborted. */
export type Lead = (term: Term) => Promise<void>;

interface RunningTermParts extends Pick<Term, 'lease' | 'holder' | 'fencingToken'> {
  readonly clock: Clock;
  readonly leaseDurationMs: number;
  readonly renewedAt: Instant;
}

export class RunningTerm implements Term {
  readonly lease: Term['lease'];
  readonly holder: string;
  readonly fencingToken: number;
  /** When the last successful renewal was sent. */
  renewedAt: Instant;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  #isTaken = false;
  /** A bound function instead of a method, so that a program can destructure a term. */
  readonly remainingMs: () => number;

  constructor({ clock, lease, holder, fencingToken, leaseDurationMs, renewedAt }: RunningTermParts) {
    this.lease = lease;
    this.holder = holder;
    this.fencingToken = fencingToken;
    this.renewedAt = renewedAt;
    this.remainingMs = () =>
      this.#isTaken ? 0 : Math.max(0, this.renewedAt + leaseDurationMs * SAFE_SHARE - clock.now());
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** Makes `remainingMs` return 0, because the Lease no longer belongs to this term, or `lead` has ended. */
  take(): void {
    this.#isTaken = true;
  }

  end(why: TermEnd): void {
    if (!this.isOver) this.#controller.abort(new TermOver(why));
  }

  /**
   * Calls `lead` and waits for its end. Resolves to true if `lead` ends before `signal` aborts. Rejects with the error
   * of `lead`. But if `signal` has aborted, an AbortError or the reason of the signal does not count as an error: work
   * that the signal aborts usually throws one of them.
   */
  async run(lead: Lead): Promise<boolean> {
    try {
      await lead(this);
    } catch (error) {
      const isAbortion =
        error === this.signal.reason || (error instanceof Error && error.name === 'AbortError');
      if (!this.isOver || !isAbortion) throw error;
    }
    return !this.isOver;
  }
}
