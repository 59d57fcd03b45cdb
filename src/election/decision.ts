import type { PingPurpose } from './candidate-observation.ts';
import type { Grant } from './lease-memory.ts';
import type { CandidateSource } from './model.ts';
import type { Outcome } from './outcome.ts';
import type { Reason } from './reason.ts';
import type { Standing } from './standing.ts';
import type { Tenure } from './tenure.ts';
import type { Instant, MicroTime } from './time.ts';

/** Asks a candidate for a sign of life. Unless `resourceVersion` is still the candidate's, nothing is written. */
export interface PingCandidate {
  readonly kind: 'PingCandidate';
  readonly source: CandidateSource;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly pingTime: MicroTime;
  readonly purpose: PingPurpose;
}

/** What a write does to the notes of a Lease (rule 14): a note that is null is removed, one that is absent stays. */
export interface NotesChange {
  readonly strategy?: string | null;
  readonly preferredHolder?: string | null;
}

/** Makes a Lease that does not exist; fails when it does by then. */
export interface CreateLease {
  readonly kind: 'CreateLease';
  readonly strategy: string;
  /** Annotations that keep the same, where the server drops fields (rule 14). */
  readonly notes?: NotesChange;
  /** Undefined for a third-party strategy: the Lease is made without a holder. */
  readonly grant: Grant | undefined;
}

/** Changes fields of a Lease, and no others. Unless `resourceVersion` is still the Lease's, nothing is written. */
export interface UpdateLease {
  readonly kind: 'UpdateLease';
  readonly uid: string;
  readonly resourceVersion: string;
  readonly change: LeaseChange;
  /** What else is written, into annotations (rule 14). */
  readonly notes?: NotesChange;
}

/** What an UpdateLease is for; each kind writes the fields that it names, and nothing else. */
export type LeaseChange =
  /** holderIdentity, acquireTime, renewTime, leaseDurationSeconds, leaseTransitions, strategy; preferredHolder removed. */
  | {
      readonly kind: 'grant';
      readonly grant: Grant;
      readonly leaseTransitions: number;
      readonly strategy: string;
    }
  /** preferredHolder and strategy, beside a valid holder. */
  | { readonly kind: 'prefer'; readonly preferredHolder: string; readonly strategy: string }
  /**
   * holderIdentity {@link FENCE}, acquireTime, renewTime, leaseDurationSeconds, leaseTransitions: nobody holds the Lease any
   * more, but it is no one else's before its time is over.
   */
  | {
      readonly kind: 'fence';
      readonly renewTime: MicroTime;
      readonly leaseDurationSeconds: number;
      readonly leaseTransitions: number;
    }
  /** preferredHolder removed; `hasFailed` when its candidate is to blame. */
  | { readonly kind: 'clearPreferredHolder'; readonly hasFailed: boolean }
  /** strategy; holderIdentity '' where the field is absent, and preferredHolder removed where it is ours. */
  | {
      readonly kind: 'strategy';
      readonly strategy: string;
      readonly isHolderAbsent: boolean;
      readonly removesPreferredHolder: boolean;
    };

/** Collects a candidate that nobody has heard of for hours; not if it was replaced or changed meanwhile. */
export interface DeleteCandidate {
  readonly kind: 'DeleteCandidate';
  readonly source: CandidateSource;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
}

export type Action = CreateLease | UpdateLease | PingCandidate | DeleteCandidate;

/** When to decide again (rule 9): when something changes, or at a moment when the passing of time is the change. */
export type Requeue = { readonly kind: 'awaitChange' } | { readonly kind: 'at'; readonly time: Instant };

/** What is to be done about one Lease, and why. */
export interface Decision {
  readonly reason: Reason;
  /**
   * To be applied in this order: the Lease first, since that is what somebody waits for, then pings (at once, they do
   * not depend on each other), then deletions.
   */
  readonly actions: readonly Action[];
  readonly requeue: Requeue;
  /** The same for as long as the Lease's holder renews it in time; Infinity: when something else changes. */
  readonly steadyUntil: Instant;
  /** Whose the Lease is. */
  readonly tenure: Tenure;
  /** What an election among those known to be alive comes to. */
  readonly outcome: Outcome;
  /** Every candidate and what it counts for. */
  readonly standings: readonly Standing[];
  /** Set when silent candidates are asked as nobody leads, which later rounds back off from. */
  readonly isRound: boolean;
  /** Set while answers are waited for that could settle who leads: the longer it takes, the more are asked. */
  readonly isAsking: boolean;
  /** The parties of a strategy conflict, to tell one that was reported already from a new one. */
  readonly conflict: string | undefined;
}
