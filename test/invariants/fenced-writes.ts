import type { HistoryEvent, Invariant } from './history.ts';

/**
 * The fencing tokens of a leader's writes to other systems never decrease, and no two leaders use the same one (rule
 * 15).
 */
export class FencedWrites implements Invariant {
  /** By Lease: the last token, and who used it first. */
  readonly #last = new Map<string, { readonly token: number; readonly who: string }>();

  observe(event: HistoryEvent): readonly string[] {
    // After a restore, numbers since the backup are used a second time.
    if (event.kind === 'restored') this.#last.clear();
    if (event.kind !== 'writesElsewhere') return [];
    const { who, key, token } = event;
    const last = this.#last.get(key);
    if (!last || token > last.token) {
      this.#last.set(key, { token, who });
      return [];
    }
    if (token < last.token) {
      return [`${who} writes as leader of ${key} with token ${token} after ${last.who} with ${last.token}`];
    }
    return who === last.who
      ? []
      : [`${last.who} and ${who} both write as leader of ${key} with token ${token}`];
  }
}
