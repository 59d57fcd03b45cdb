import type { HistoryEvent, Moment } from '../invariants/history.ts';

/** Who holds each Lease by a renewal of its own, with nothing written by anybody since. */
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

  /** Somebody else has this name from now on. */
  forget(key: string, who: string): void {
    if (this.#renewals.get(key)?.holder === who) this.#renewals.delete(key);
  }

  /** Whether `who` has renewed the Lease last, and that lasts at `at`. */
  isHeld(key: string, who: string, at: Moment): boolean {
    const renewal = this.#renewals.get(key);
    return renewal?.holder === who && at < renewal.until;
  }
}
