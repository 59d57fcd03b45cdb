import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Moment } from '../invariants/history.ts';
import type { FaultKind } from './fault-plan.ts';
import { monotonicNow } from './monotonic.ts';

export const journalName = 'journal.jsonl';

/** The kinds of processes. */
export type Role = 'etcd' | 'apiServer' | 'coordinator' | 'candidate';

/**
 * The actions of the harness, and its observations of its processes. The processes write the rest of a run's record.
 */
export type JournalEntry =
  | {
      readonly kind: 'started';
      readonly role: Role;
      /** The same for all lives of a process; for a candidate, its identity. */
      readonly name: string;
      readonly logFile: string;
      /** For a candidate: its Lease with its namespace, and the lease duration. */
      readonly lease?: string;
      readonly leaseDurationMs?: number;
    }
  /** `isOurs`: the harness killed it, or told it to exit. */
  | {
      readonly kind: 'ended';
      readonly role: Role;
      readonly name: string;
      readonly logFile: string;
      readonly isOurs: boolean;
      readonly how: string;
    }
  | { readonly kind: 'fault'; readonly fault: FaultKind; readonly victim: string }
  /** `struck`: whether it had any effect. */
  | {
      readonly kind: 'faultOver';
      readonly fault: FaultKind;
      readonly victim: string;
      readonly struck: boolean;
    }
  /** The wall clock's time at this moment. */
  | { readonly kind: 'clock'; readonly wallMs: number }
  | { readonly kind: 'calm' | 'settled' | 'end' }
  /** A problem that the harness found. */
  | { readonly kind: 'problem'; readonly problem: string };

export type Journaled = JournalEntry & { readonly at: Moment };

export class Journal {
  readonly #path: string;

  constructor(directory: string) {
    this.#path = join(directory, journalName);
  }

  /** Written before this returns, so that a killed run keeps its record. */
  write(entry: JournalEntry): void {
    appendFileSync(this.#path, `${JSON.stringify({ at: monotonicNow(), ...entry })}\n`);
  }
}
