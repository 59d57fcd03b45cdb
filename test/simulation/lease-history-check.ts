import { type SimWrite, specOf } from './sim-api-server.ts';

/**
 * Sees to it that leaseTransitions of a Lease never goes back, and that no two who led share a number (rule 12): it is
 * what a leader's writes elsewhere can be told from its predecessor's by.
 */
export class LeaseHistoryCheck {
  readonly #onViolation: (what: string) => void;
  /** By Lease and number: who renewed the Lease under it. */
  readonly #leaders = new Map<string, string>();

  constructor(onViolation: (what: string) => void) {
    this.#onViolation = onViolation;
  }

  written({ writer, resource, key, before, after }: SimWrite): void {
    if (resource !== 'leases' || !before || !after) return;
    const [from, to] = [specOf(before), specOf(after)];
    const [former, number] = [Number(from['leaseTransitions'] ?? 0), Number(to['leaseTransitions'] ?? 0)];
    if (number < former)
      this.#onViolation(`${writer} sets leaseTransitions of ${key} from ${former} to ${number}`);
    const leader = to['holderIdentity'];
    // Only who holds a Lease writes so.
    if (typeof leader !== 'string' || leader !== writer || from['holderIdentity'] !== leader) return;
    // Who deletes a Lease takes its numbers along.
    const term = `${key} ${after.metadata.uid} ${number}`;
    const other = this.#leaders.get(term);
    if (other !== undefined && other !== leader)
      this.#onViolation(`${other} and ${leader} both lead ${key} with leaseTransitions ${number}`);
    this.#leaders.set(term, leader);
  }
}
