import type { Reason } from '../election/reason.ts';
import type { Happening } from './happening.ts';

/** Everything that the demo shows, at one moment. */
export interface DemoState {
  /** `default/demo` */
  readonly leaseKey: string;
  /** Undefined: there is none. */
  readonly lease: LeaseState | undefined;
  /** In the order of the election, the best first. */
  readonly candidates: readonly CandidateRow[];
  /** Of the coordinator's last decision about this Lease. */
  readonly reason: Reason | undefined;
  /** The last ones, the oldest first. */
  readonly happenings: readonly Happening[];
}

/** The Lease as it is. */
export interface LeaseState {
  /** '' when nobody holds it. */
  readonly holder: string;
  /** '' when nobody is preferred to the holder. */
  readonly preferredHolder: string;
  /** '' when it names none. */
  readonly strategy: string;
  readonly transitions: number;
  /** How long its holder may believe in it after a renewal, in milliseconds. */
  readonly durationMs: number;
  /** How much of that is left; 0 once it has expired. */
  readonly remainingMs: number;
}

/**
 * What a candidate is doing. Of its program: leading, yielding (leading on while another is preferred, without renewing),
 * paused, crashed. Of the election: elected (and does not know yet), preferred, pinged (has not answered), fresh (has just
 * renewed), idle.
 */
export type Condition =
  | 'leading'
  | 'yielding'
  | 'elected'
  | 'preferred'
  | 'pinged'
  | 'fresh'
  | 'idle'
  | 'paused'
  | 'crashed';

/** A candidate as it is. */
export interface CandidateRow {
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  /** What it asks for. */
  readonly strategy: string;
  readonly condition: Condition;
  /** Whether the Lease names it as its holder, which a crashed one remains for a while. */
  readonly isHolder: boolean;
  readonly isPreferred: boolean;
}
