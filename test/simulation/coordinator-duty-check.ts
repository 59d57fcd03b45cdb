import type { Clock, Instant } from '../../src/support/clock.ts';
import { type SimWrite, specOf } from './sim-api-server.ts';
import type { SimCandidate } from './sim-candidate.ts';

/** Sees to it that no coordinator takes a Lease from who leads (rule 8), or deletes a candidate that lives (rule 1). */
export class CoordinatorDutyCheck {
  readonly #clock: Clock;
  readonly #candidateValidityMs: number;
  readonly #onViolation: (what: string) => void;
  /** By candidate: when it last wrote its own LeaseCandidate. */
  readonly #renewedAt = new Map<string, Instant>();

  constructor(clock: Clock, candidateValidityMs: number, onViolation: (what: string) => void) {
    this.#clock = clock;
    this.#candidateValidityMs = candidateValidityMs;
    this.#onViolation = onViolation;
  }

  /** A candidate may have written. */
  written({ writer, resource, method }: SimWrite): void {
    if (resource === 'leasecandidates' && method !== 'DELETE') this.#renewedAt.set(writer, this.#clock.now());
  }

  /** A coordinator has. */
  coordinated({ writer, resource, key, before, after }: SimWrite, candidates: readonly SimCandidate[]): void {
    if (resource === 'leasecandidates' && !after) this.#deleted(writer, key, candidates);
    const holder = specOf(after)['holderIdentity'];
    if (resource !== 'leases' || holder === specOf(before)['holderIdentity']) return;
    for (const { leaseKey, leads, identity } of candidates) {
      if (leaseKey === key && leads && identity.name !== holder)
        this.#onViolation(`${writer} gives ${key} to ${String(holder)} while ${identity.name} leads`);
    }
  }

  #deleted(writer: string, key: string, candidates: readonly SimCandidate[]): void {
    for (const { identity, isRunning } of candidates) {
      if (!isRunning || `${identity.namespace}/${identity.name}` !== key) continue;
      const silentForMs =
        this.#clock.now() - (this.#renewedAt.get(identity.name) ?? Number.NEGATIVE_INFINITY);
      if (silentForMs < this.#candidateValidityMs)
        this.#onViolation(
          `${writer} deletes ${key}, which runs and has renewed ${Math.round(silentForMs)} ms ago`,
        );
    }
  }
}
