import type { CandidateObservation } from './candidate-observation.ts';
import type { LeaseMemory } from './lease-memory.ts';
import type { ElectionSettings, Lease, LeaseCandidate } from './model.ts';
import type { Instant } from './time.ts';

/** A candidate together with what this process has seen of it. */
export interface ObservedCandidate {
  readonly candidate: LeaseCandidate;
  readonly observation: CandidateObservation;
}

/** Everything a decision about one Lease depends on, but for the time. */
export interface ElectionInput {
  readonly namespace: string;
  readonly name: string;
  readonly lease: Lease | undefined;
  readonly memory: LeaseMemory;
  /** The candidates whose leaseName is the Lease's name, in its namespace; in any order. */
  readonly candidates: readonly ObservedCandidate[];
  /**
   * Of two candidates of one name, from two sources, the other one than that among `candidates`: it takes no part (rule 13), and
   * is pinged together with it.
   */
  readonly twins?: readonly ObservedCandidate[] | undefined;
  /** Until when candidates may be out of sight, as a source that had some is served no more (rule 13). */
  readonly hiddenUntil?: Instant | undefined;
  /** Whether the server drops strategy and preferredHolder, by its last answer (rule 14); undefined before the first one. */
  readonly dropsFields?: boolean | undefined;
  readonly settings: ElectionSettings;
}
