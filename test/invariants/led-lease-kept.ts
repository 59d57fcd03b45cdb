import type { HistoryEvent, Invariant, Moment } from './history.ts';

interface Renewal {
  readonly holder: string;
  readonly until: Moment;
}

/** No coordinator takes a Lease from a holder that renews in time, or gives it to another than who believes to lead it (rule 8). */
export class LedLeaseKept implements Invariant {
  readonly #clockTolerance: number;
  /** By Lease: who last renewed it, and until when that lasts. */
  readonly #renewals = new Map<string, Renewal>();
  /** By Lease: who believes to lead it, and until when. */
  readonly #leaders = new Map<string, Map<string, Moment>>();

  /** @param clockTolerance the part of its duration for which a renewal counts: what rates of clocks leave of it. */
  constructor(clockTolerance: number) {
    this.#clockTolerance = clockTolerance;
  }

  observe(event: HistoryEvent): readonly string[] {
    switch (event.kind) {
      case 'leads': {
        const leaders = this.#leaders.get(event.key) ?? new Map<string, Moment>();
        this.#leaders.set(event.key, leaders.set(event.who, event.until));
        return [];
      }
      case 'follows':
        this.#leaders.get(event.key)?.delete(event.who);
        return [];
      case 'restored':
        this.#renewals.clear();
        return [];
      case 'lease':
        return this.#written(event);
      default:
        return [];
    }
  }

  #written({ at, writer, key, before, after }: Extract<HistoryEvent, { kind: 'lease' }>): readonly string[] {
    const holder = after?.holder ?? '';
    if (writer.kind === 'candidate' && holder === writer.name) {
      this.#renewals.set(key, { holder, until: at + (after?.durationMs ?? 0) * this.#clockTolerance });
      return [];
    }
    if (writer.kind !== 'coordinator' || holder === before?.holder) return [];
    const renewal = this.#renewals.get(key);
    const taken =
      renewal && before && renewal.holder === before.holder && at < renewal.until
        ? [`${writer.name} takes ${key} from ${renewal.holder}, which has renewed it in time`]
        : [];
    const cheated: string[] = [];
    for (const [leader, until] of this.#leaders.get(key) ?? []) {
      if (until > at && leader !== holder)
        cheated.push(`${writer.name} gives ${key} to "${holder}" while ${leader} leads`);
    }
    return [...taken, ...cheated];
  }
}
