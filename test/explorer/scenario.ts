import type { ElectionSettings } from '../../src/election/model.ts';
import type { Rules } from './rules.ts';
import { type Faults, GRANT_TICKS, TICK_MS } from './world.ts';

/** How a program takes part. */
export interface ProgramPlan {
  readonly name: string;
  readonly kind: 'clientGo' | 'participant';
  /** Both its versions; the lowest leads. */
  readonly version?: string;
  /** False: its LeaseCandidate answers pings, but nothing takes a grant up. */
  readonly hasElector?: false;
  /** True: it alone falls asleep and crashes, where the scenario has such faults; the others never do. */
  readonly isFlaky?: true;
  /** True: it is not there at first, and starts at some time. */
  readonly isLate?: true;
  /** By how many ticks its clock on the wall is ahead; 0 by default. */
  readonly clockTicks?: number;
}

/** A small cluster, what may go wrong in it, and what is checked. */
export interface Scenario {
  readonly name: string;
  /** What it is there to find out, for people to read. */
  readonly about: string;
  readonly programs: readonly ProgramPlan[];
  /** How many of this project's coordinators there are; one of them has the lock. */
  readonly coordinators: number;
  /** Who has the lock first; by default the first coordinator. */
  readonly firstActive?: 'builtIn';
  /** Whether the lock may pass to the coordinator built into the API server. */
  readonly hasBuiltIn?: true;
  /** By how many ticks the clock on the wall of each coordinator is ahead; 0 by default. */
  readonly coordinatorClocks?: readonly number[];
  /** True: programs stop a tick before their Lease's duration is over, as those must whose clocks may be slow. */
  readonly stopsEarly?: true;
  /** True: all coordinators write, as nobody has told them who has the lock. */
  readonly areAllActive?: true;
  /** For how long the first election waits for more candidates, in milliseconds; 0 by default. */
  readonly settleMs?: number;
  /** Whether the server drops `strategy` and `preferredHolder`, as with its feature gate off. */
  readonly dropsFields?: true;
  /** True: programs run in Pods. A kubelet starts a container again that has crashed, and coordinators watch Pods (rule 17). */
  readonly hasKubelet?: true;
  readonly faults: Partial<Faults>;
  /** Whom vandals write into the Lease: any other name, by default. What happens unseen nobody can make up for. */
  readonly thieves?: 'stranger';
  /** Led: the first program has been granted the Lease, and leads. */
  readonly start: 'empty' | 'led';
  /** For how long it has led then, in ticks; long enough by default for nothing that was before to matter. */
  readonly ledForTicks?: number;
  /** True: reading and updating are one step. It has fewer states, and leaves out races that end in a conflict. */
  readonly isAtomic?: true;
  /** The Lease must be led within so many ticks, whenever a program is able to lead; undefined: not checked. */
  readonly ledWithinTicks?: number;
  /** True: it is looked for rounds in which the Lease is never led although a program is able to, for ever. */
  readonly isLedAgain?: true;
}

export const NO_FAULTS: Faults = {
  deletions: 0,
  emptyings: 0,
  thefts: 0,
  shortenings: 0,
  gaps: 0,
  losses: 0,
  failovers: 0,
  restarts: 0,
  crashes: 0,
  sleeps: 0,
  stops: 0,
  pauses: 0,
  lags: 0,
  slips: 0,
  falseEnds: 0,
};

/** One tick for an answer to a ping, two for a grant. Candidates are valid for longer than anything here lasts. */
const settings: ElectionSettings = {
  electionDurationMs: TICK_MS,
  leaseDurationSeconds: (GRANT_TICKS * TICK_MS) / 1000,
  candidateValidityMs: 1e9,
  candidateGcAfterMs: 1e9,
};

export function settingsOf({
  settleMs = 0,
  hasKubelet,
}: Pick<Scenario, 'settleMs' | 'hasKubelet'>): ElectionSettings {
  return { ...settings, settleMs, isCrashEvidenceUsed: hasKubelet ?? false };
}

/** What the steps of a world depend on, beside the world. */
export interface Setting {
  readonly scenario: Scenario;
  readonly rules: Rules;
}
