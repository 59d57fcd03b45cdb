import type { HistoryEvent, Invariant, Moment } from './history.ts';

/** No two processes believe at the same time that they lead one Lease (rule 8). */
export class OneLeader implements Invariant {
  /** By Lease: who believes that it leads, and until when. */
  readonly #leaders = new Map<string, Map<string, Moment>>();

  observe(event: HistoryEvent): readonly string[] {
    if (event.kind === 'follows') this.#leaders.get(event.key)?.delete(event.who);
    if (event.kind !== 'leads') return [];
    const { at, who, key, until } = event;
    // The event came only after its end, because of an answer that was read late.
    if (until <= at) return [];
    const leaders = this.#leaders.get(key) ?? new Map<string, Moment>();
    this.#leaders.set(key, leaders);
    const isNew = (leaders.get(who) ?? Number.NEGATIVE_INFINITY) <= at;
    leaders.set(who, until);
    const others: string[] = [];
    for (const [other, othersUntil] of leaders) {
      if (othersUntil <= at) leaders.delete(other);
      else if (other !== who) others.push(other);
    }
    return isNew ? others.map((other) => `${other} and ${who} both lead ${key}`) : [];
  }
}
