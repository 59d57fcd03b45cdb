import type { HistoryEvent, Invariant, Moment } from './history.ts';

/** Timeout of a write, in milliseconds (rule 10). */
const LONGEST_WRITE_MS = 3500;

/** Only one coordinator at a time, and no write of ours without the lock (rule 10). */
export class OneCoordinator implements Invariant {
  readonly #longestWriteMs: number;
  /** Until when each process believes that it is the coordinator, or until when it did. */
  readonly #until = new Map<string, Moment>();

  /** @param clockTolerance see {@link LedLeaseKept}. */
  constructor(clockTolerance: number) {
    this.#longestWriteMs = LONGEST_WRITE_MS / clockTolerance;
  }

  observe(event: HistoryEvent): readonly string[] {
    switch (event.kind) {
      case 'coordinates': {
        const isNew = !this.#coordinates(event.who, event.at);
        this.#until.set(event.who, event.until);
        if (!isNew) return [];
        return this.#othersThan(event.who, event.at).map(
          (other) => `${other} and ${event.who} both coordinate`,
        );
      }
      case 'standsBy': {
        const until = this.#until.get(event.who);
        if (until !== undefined) this.#until.set(event.who, Math.min(until, event.at));
        return [];
      }
      case 'lease':
      case 'candidate':
        return event.writer.kind === 'coordinator' && !event.isLate ? this.#written(event) : [];
      default:
        return [];
    }
  }

  #written({ at, writer: { name }, key }: Extract<HistoryEvent, { writer: unknown }>): readonly string[] {
    const others = this.#othersThan(name, at).map(
      (other) => `${name} writes ${key} while ${other} coordinates`,
    );
    const until = this.#until.get(name) ?? Number.NEGATIVE_INFINITY;
    return at > until + this.#longestWriteMs ? [...others, `${name} writes ${key} without the lock`] : others;
  }

  #coordinates(who: string, at: Moment): boolean {
    return (this.#until.get(who) ?? Number.NEGATIVE_INFINITY) > at;
  }

  #othersThan(who: string, at: Moment): readonly string[] {
    return [...this.#until.keys()].filter((other) => other !== who && this.#coordinates(other, at));
  }
}
