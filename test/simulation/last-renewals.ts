import type { HistoryEvent, Moment } from '../invariants/history.ts';

/** Tracks the holder of each Lease that has renewed it itself, with no write by others since then. */
export class LastRenewals {
  readonly #renewals = new Map<string, { readonly holder: string; readonly until: Moment }>();

  observe(event: HistoryEvent): void {
    if (event.kind === 'restored') this.#renewals.clear();
    if (event.kind !== 'lease') return;
    const { at, writer, key, after } = event;
    const { holder, durationMs = 0 } = after ?? {};
    if (holder === writer.name) this.#renewals.set(key, { holder, until: at + durationMs });
    else this.#renewals.delete(key);
  }

  /** From now on, another program has this name. */
  forget(key: string, who: string): void {
    if (this.#renewals.get(key)?.holder === who) this.#renewals.delete(key);
  }

  /** Whether `who` was the last to renew the Lease, and this renewal is still valid at `at`. */
  isHeld(key: string, who: string, at: Moment): boolean {
    const renewal = this.#renewals.get(key);
    return renewal?.holder === who && at < renewal.until;
  }
}
