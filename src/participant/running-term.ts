import type { Clock, Instant } from '../support/clock.ts';
import type { ElectorTiming, TermView } from './elector-decision.ts';
import { leadsUntil } from './elector-decision.ts';
import { type Lead, type Term, type TermEnd, TermOver } from './term.ts';

/** What a {@link RunningTerm} needs. */
export interface RunningTermParts {
  readonly clock: Clock;
  readonly lease: Term['lease'];
  readonly holder: string;
  readonly number: number;
  readonly timing: ElectorTiming;
  /** When the renewal that it begins with was sent. */
  readonly renewedAt: Instant;
}

/** A term, and what its elector knows of it. */
export class RunningTerm implements Term, TermView {
  readonly lease: Term['lease'];
  readonly holder: string;
  readonly number: number;
  renewedAt: Instant;
  readonly #clock: Clock;
  readonly #timing: ElectorTiming;
  readonly #controller = new AbortController();
  #isTaken = false;
  /** Bound, as whoever takes a term apart hands it on by itself. */
  readonly until = (): number =>
    this.#isTaken ? 0 : Math.max(0, leadsUntil(this, this.#timing) - this.#clock.now());

  constructor({ clock, lease, holder, number, timing, renewedAt }: RunningTermParts) {
    this.#clock = clock;
    this.#timing = timing;
    this.lease = lease;
    this.holder = holder;
    this.number = number;
    this.renewedAt = renewedAt;
  }

  get fencingToken(): number {
    return this.number;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /** The Lease is another's, or may be. */
  take(): void {
    this.#isTaken = true;
  }

  end(why: TermEnd): void {
    if (!this.isOver) this.#controller.abort(new TermOver(why));
  }

  /** Resolves when `lead` has ended: with whether it did so of itself. Rejects with what it threw of itself. */
  async run(lead: Lead): Promise<boolean> {
    try {
      await lead(this);
      return !this.isOver;
    } catch (error) {
      if (this.isOver && isAbortion(error, this.signal)) return false;
      throw error;
    }
  }
}

/** Whether an error says no more than that the signal has aborted, as fetch and timers of Node say it. */
function isAbortion(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && error.name === 'AbortError');
}
