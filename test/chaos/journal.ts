import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Moment } from '../invariants/history.ts';
import type { FaultKind } from './fault-plan.ts';
import { monotonicNow } from './monotonic.ts';

export const journalName = 'journal.jsonl';

/** What kinds of processes there are. */
export type Role = 'etcd' | 'apiServer' | 'coordinator' | 'candidate';

/** What the harness has done, and seen of its processes; the rest of a run's record is written by the processes themselves. */
export type JournalEntry =
  | {
      readonly kind: 'started';
      readonly role: Role;
      /** The same for each of its lives, but of a candidate: that is its identity. */
      readonly name: string;
      readonly logFile: string;
      /** Of a candidate: its Lease, with its namespace, and how long that lasts. */
      readonly lease?: string;
      readonly leaseDurationMs?: number;
    }
  /** `isOurs`: because the harness killed it, or told it to end. */
  | {
      readonly kind: 'ended';
      readonly role: Role;
      readonly name: string;
      readonly logFile: string;
      readonly isOurs: boolean;
      readonly how: string;
    }
  | { readonly kind: 'fault'; readonly fault: FaultKind; readonly victim: string }
  /** `struck`: whether it has made any difference. */
  | {
      readonly kind: 'faultOver';
      readonly fault: FaultKind;
      readonly victim: string;
      readonly struck: boolean;
    }
  /** The wall clock's time at this moment. */
  | { readonly kind: 'clock'; readonly wallMs: number }
  | { readonly kind: 'calm' | 'settled' | 'end' }
  /** What the harness itself found to be wrong. */
  | { readonly kind: 'problem'; readonly problem: string };

export type Journaled = JournalEntry & { readonly at: Moment };

export class Journal {
  readonly #path: string;

  constructor(directory: string) {
    this.#path = join(directory, journalName);
  }

  /** Written before this returns, so that a run that is killed leaves its record. */
  write(entry: JournalEntry): void {
    appendFileSync(this.#path, `${JSON.stringify({ at: monotonicNow(), ...entry })}\n`);
  }
}
