import type { HistoryEvent, Invariant } from './history.ts';

/**
 * leaseTransitions of a Lease never decreases, and no two leaders have the same number (rule 12). Other systems use
 * it to tell a leader's writes from its predecessor's.
 */
export class TransitionsGrow implements Invariant {
  /** By Lease and number: who renewed the Lease under it. */
  readonly #leaders = new Map<string, string>();

  observe(event: HistoryEvent): readonly string[] {
    // After a restore, numbers since the backup are used a second time.
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
    // Only the holder of a Lease writes like this.
    if (writer.kind !== 'candidate' || after.holder !== writer.name || before.holder !== writer.name)
      return violations;
    // The deletion of a Lease resets its numbers.
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
