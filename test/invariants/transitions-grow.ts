import type { HistoryEvent, Invariant } from './history.ts';

/**
 * leaseTransitions of a Lease never goes back, and no two who led share a number (rule 12): it is what a leader's writes
 * elsewhere can be told from its predecessor's by.
 */
export class TransitionsGrow implements Invariant {
  /** By Lease and number: who renewed the Lease under it. */
  readonly #leaders = new Map<string, string>();

  observe(event: HistoryEvent): readonly string[] {
    // The numbers since the backup are given out a second time.
    if (event.kind === 'restored') this.#leaders.clear();
    if (event.kind !== 'lease') return [];
    const { writer, key, before, after } = event;
    if (!before || !after) return [];
    const violations: string[] = [];
    if (after.transitions < before.transitions && writer.kind !== 'other') {
      violations.push(
        `${writer.name} sets leaseTransitions of ${key} from ${before.transitions} to ${after.transitions}`,
      );
    }
    // Only who holds a Lease writes so.
    if (writer.kind !== 'candidate' || after.holder !== writer.name || before.holder !== writer.name)
      return violations;
    // Who deletes a Lease takes its numbers along.
    const term = `${key} ${after.uid} ${after.transitions}`;
    const other = this.#leaders.get(term);
    if (other !== undefined && other !== writer.name)
      violations.push(
        `${other} and ${writer.name} both lead ${key} with leaseTransitions ${after.transitions}`,
      );
    this.#leaders.set(term, writer.name);
    return violations;
  }
}
