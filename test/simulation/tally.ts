import type { Reason } from '../../src/election/decision.ts';
import { FENCE } from '../../src/election/model.ts';
import type { HistoryEvent } from '../invariants/history.ts';

/** Counts of events in one run or in many. */
export class Tally {
  readonly counts = new Map<string, number>();
  /** By Lease: its last known leader. */
  readonly #leaders = new Map<string, string>();

  /** @param kind of a fault */
  count(kind: string): void {
    this.#add(`fault ${kind}`);
  }

  decided(reason: Reason): void {
    this.#add(`decision ${reason}`);
  }

  termBegan(): void {
    this.#add('terms of participants');
  }

  brokenByBuiltIn(): void {
    this.#add('promises broken by the built-in');
  }

  happened(event: HistoryEvent): void {
    if (event.kind === 'leads' && this.#leaders.get(event.key) !== event.who) {
      this.#leaders.set(event.key, event.who);
      this.#add('leader changes');
    }
    if (event.kind !== 'lease' && event.kind !== 'candidate') return;
    const { writer, before, after } = event;
    if (writer.kind === 'builtIn' && event.kind === 'lease') this.#ofBuiltIn(event);
    if (writer.kind !== 'coordinator') return;
    if (event.kind === 'candidate') this.#add(after ? 'pings' : 'candidates deleted');
    else if (event.after && event.after.holder !== '' && event.after.holder !== event.before?.holder) {
      this.#add(event.after.holder === FENCE ? 'fences' : 'grants');
      if (event.before?.preferredHolder === event.after.holder) this.#add('grants to a preferredHolder');
    } else if (event.after?.preferredHolder && before !== after) this.#add('preferences');
    else if (event.before?.holder && event.after?.holder === '')
      this.#add('Leases of plain electors emptied');
  }

  #ofBuiltIn({ before, after }: Extract<HistoryEvent, { kind: 'lease' }>): void {
    this.#add(after?.holder === before?.holder ? 'preferences by the built-in' : 'grants by the built-in');
  }

  /** Adds the counts of another tally. */
  addAll(counts: Iterable<readonly [string, number]>): void {
    for (const [what, count] of counts) this.#add(what, count);
  }

  #add(what: string, count = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + count);
  }
}
