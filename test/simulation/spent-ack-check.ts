import { type Decision, grantOf, preferredBy } from '../../src/election/decision.ts';
import type { Instant, Lease } from '../../src/election/model.ts';
import type { ElectionInput } from '../../src/election/view.ts';

/**
 * Checks that every elected candidate has given a sign of life that no earlier election has used, or has given it
 * within electionDuration (rule 3).
 */
export class SpentAckCheck {
  readonly #onViolation: (what: string) => void;
  /** By Lease: when the write that ended its last election was answered. */
  readonly #decidedAt = new Map<string, Instant>();

  constructor(onViolation: (what: string) => void) {
    this.#onViolation = onViolation;
  }

  decided(key: string, decision: Decision, { candidates, settings }: ElectionInput, at: Instant): void {
    const elected = grantOf(decision)?.holder ?? preferredBy(decision);
    const observation = candidates.find(({ candidate }) => candidate.name === elected)?.observation;
    if (!observation) return;
    const { unchangedSince } = observation;
    const decidedAt = this.#decidedAt.get(key) ?? Number.NEGATIVE_INFINITY;
    if (unchangedSince > decidedAt || at < unchangedSince + settings.electionDurationMs) return;
    this.#onViolation(
      `${key} goes to ${elected} by ${decision.reason}, on an answer of ${at - unchangedSince} ms ago`,
    );
  }

  /**
   * The single write of `decision` was answered at `at` with `lease`. Later observations are news, even while its
   * pings are in flight. A server that drops preferredHolder does not change the election.
   */
  applied(key: string, decision: Decision, lease: Lease | undefined, at: Instant): void {
    const preferred = preferredBy(decision);
    const isPreferred = preferred !== undefined && lease?.preferredHolder === preferred;
    if (grantOf(decision) || isPreferred) this.#decidedAt.set(key, at);
  }
}
