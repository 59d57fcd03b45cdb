/** One time of leading, from the first renewal of a grant on. */
export interface Term {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The identity under which it leads. */
  readonly holder: string;
  /**
   * The Lease's leaseTransitions: greater than that of every other leader before. What the leader writes elsewhere can be
   * refused by it once a greater one was seen there.
   */
  readonly fencingToken: number;
  /** Aborts when leading has to end; the reason is a {@link TermOver}. */
  readonly signal: AbortSignal;
  /**
   * For how many milliseconds nobody else can lead yet, by the monotonic clock at this very moment, also after `signal` has
   * aborted. It counts 90 % of the Lease's duration from when the last renewal was sent: the clocks of two machines may run 5 %
   * fast and 5 % slow. 0 once that is over, also where `signal` could not abort yet as the event loop was blocked, or once the
   * Lease is somebody else's.
   */
  until(): number;
}

/**
 * Why a term is over: another holder is preferred (`yielded`), `resign` or `withdraw` was called (`resigned`), the
 * participant is stopped or the callback has ended (`stopped`), or the Lease could not be renewed in time, or is somebody else's (`lost`).
 */
export type TermEnd = 'yielded' | 'resigned' | 'stopped' | 'lost';

/** The reason with which a {@link Term}'s signal aborts. */
export class TermOver extends Error {
  // As what a signal aborts has it: whoever asks for that name takes it for no failure.
  override readonly name = 'AbortError';
  readonly why: TermEnd;

  constructor(why: TermEnd) {
    super(`the term is over: ${why}`);
    this.why = why;
  }
}

/** What a program does while it leads. It has to end soon after the term's signal has aborted. */
export type Lead = (term: Term) => Promise<void>;
