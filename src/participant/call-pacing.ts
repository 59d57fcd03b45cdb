import { ApiError, isConflict } from '../kubernetes/errors.ts';
import { Backoff } from '../support/backoff.ts';
import type { Clock, Instant } from '../support/clock.ts';
import type { ElectorTiming } from './elector-decision.ts';

/** The first delay after a write that was refused as the Lease has changed, in milliseconds: what it is now has been read. */
const CONFLICT_INITIAL_MS = 10;

/** One request about the Lease at a time, and when the next may be sent. */
export class CallPacing {
  readonly #clock: Clock;
  readonly #timing: ElectorTiming;
  readonly #conflicts: Backoff;
  readonly #failures: Backoff;
  #isCalling = false;
  #callFrom: Instant = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, timing: ElectorTiming) {
    this.#clock = clock;
    this.#timing = timing;
    const { retryPeriodMs: resetAfterMs } = timing;
    // Sooner than the next renewal would come: a leader has not many of them before it must stop.
    const [initialMs, maxMs] = [resetAfterMs / 8, resetAfterMs / 2];
    this.#conflicts = new Backoff({ initialMs: CONFLICT_INITIAL_MS, maxMs, resetAfterMs }, clock);
    this.#failures = new Backoff({ initialMs, maxMs, resetAfterMs }, clock);
  }

  get isCalling(): boolean {
    return this.#isCalling;
  }

  /** No request is sent before. */
  get callFrom(): Instant {
    return this.#callFrom;
  }

  /** Carries a request out, with a deadline, as one that hangs must not be the last. Rejects as it does. */
  async call(request: (deadlineMs: number) => Promise<void>): Promise<void> {
    this.#isCalling = true;
    try {
      await request(this.#timing.renewDeadlineMs / 2);
      this.#conflicts.succeeded();
      this.#failures.succeeded();
      this.#callFrom = Number.NEGATIVE_INFINITY;
    } catch (error) {
      this.#callFrom = this.#clock.now() + this.#delayMs(error);
      throw error;
    } finally {
      this.#isCalling = false;
    }
  }

  #delayMs(error: unknown): number {
    if (isConflict(error)) return this.#conflicts.failed();
    const { retryAfterMs = 0 } = error instanceof ApiError ? error : {};
    return Math.max(this.#failures.failed(), Math.min(retryAfterMs, this.#timing.retryPeriodMs));
  }
}
