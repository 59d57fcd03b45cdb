import { type Clock, type Instant, SAFE_SHARE } from '../support/clock.ts';

/** One time of leading. It begins with the first renewal of a grant. */
export interface Term {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The identity of the leader. */
  readonly holder: string;
  /**
   * The Lease's leaseTransitions during this term, greater than in all earlier terms. A store that the leader writes to can
   * reject a token that is lower than the greatest it has seen.
   */
  readonly fencingToken: number;
  /** Aborts when the program has to stop leading. The reason is a {@link TermOver}. */
  readonly signal: AbortSignal;
  /**
   * Returns for how many more milliseconds no other candidate can lead, by the monotonic clock. It also works after `signal`
   * has aborted. The time is 90 % of the Lease's duration, from when the last renewal was sent: the clocks of two machines may
   * run 5 % fast and 5 % slow. It is 0 once that time is over or another holder has the Lease, even if `signal` has not aborted
   * yet because the event loop was blocked.
   */
  remainingMs(): number;
}

/**
 * Why a term is over. `yielded`: another holder is preferred. `resigned`: `resign` or `withdraw` was called. `stopped`: the
 * participant was stopped or the callback has ended. `lost`: the Lease was not renewed in time, or has another holder.
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

/** What a program does while it leads. It has to end soon after the term's signal has aborted. */
export type Lead = (term: Term) => Promise<void>;

/** What a {@link RunningTerm} needs. */
export interface RunningTermParts {
  readonly clock: Clock;
  readonly lease: Term['lease'];
  readonly holder: string;
  readonly fencingToken: number;
  readonly leaseDurationMs: number;
  /** When the first renewal was sent. */
  readonly renewedAt: Instant;
}

/** A term as its elector controls it. */
export class RunningTerm implements Term {
  readonly lease: Term['lease'];
  readonly holder: string;
  readonly fencingToken: number;
  /** When the last successful renewal was sent. */
  renewedAt: Instant;
  readonly #controller = new AbortController();
  #isTaken = false;
  /** Bound, so that a program can destructure a term. */
  readonly remainingMs: () => number;

  constructor({ clock, lease, holder, fencingToken, leaseDurationMs, renewedAt }: RunningTermParts) {
    this.lease = lease;
    this.holder = holder;
    this.fencingToken = fencingToken;
    this.renewedAt = renewedAt;
    this.remainingMs = () =>
      this.#isTaken ? 0 : Math.max(0, this.renewedAt + leaseDurationMs * SAFE_SHARE - clock.now());
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** Another holder has the Lease, or may get it at any time. */
  take(): void {
    this.#isTaken = true;
  }

  /** Tells the program to stop leading. */
  end(why: TermEnd): void {
    if (!this.isOver) this.#controller.abort(new TermOver(why));
  }

  /**
   * Calls `lead`. Resolves when it has ended, with whether it ended before the term was over. Rejects with its error, except
   * for the signal's reason, or an AbortError, after the term was over.
   */
  async run(lead: Lead): Promise<boolean> {
    try {
      await lead(this);
      return !this.isOver;
    } catch (error) {
      const isAbortion =
        error === this.signal.reason || (error instanceof Error && error.name === 'AbortError');
      if (this.isOver && isAbortion) return false;
      throw error;
    }
  }
}
