import type { ElectionSettings } from '../../src/election/model.ts';
import type { Rules } from './rules.ts';
import { type Faults, GRANT_TICKS, TICK_MS } from './world.ts';

/** How a program takes part. */
export interface ProgramPlan {
  readonly name: string;
  readonly kind: 'clientGo' | 'participant';
  /** The value of both versions; the lowest leads. */
  readonly version?: string;
  /** False: its LeaseCandidate answers pings, but its elector takes up no grant. */
  readonly hasElector?: false;
  /** True: faults of sleep and crash affect only this program. */
  readonly isFlaky?: true;
  /** True: the program starts later, at any time. */
  readonly isLate?: true;
  /** Number of ticks by which its wall clock is ahead; default 0. */
  readonly clockTicks?: number;
}

/** A small cluster, its possible faults, and its checks. */
export interface Scenario {
  readonly name: string;
  /** The question that the scenario answers, for people. */
  readonly about: string;
  readonly programs: readonly ProgramPlan[];
  /** Number of coordinators of this project; one of them holds the lock. */
  readonly coordinators: number;
  /** The first holder of the lock; default: the first coordinator. */
  readonly firstActive?: 'builtIn';
  /** Whether the lock may pass to the coordinator built into the API server. */
  readonly hasBuiltIn?: true;
  /** Number of ticks by which the wall clock of each coordinator is ahead; default 0. */
  readonly coordinatorClocks?: readonly number[];
  /** True: programs stop one tick before their Lease expires, as programs with slow clocks must. */
  readonly stopsEarly?: true;
  /** True: all coordinators write, because they ignore the lock. */
  readonly areAllActive?: true;
  /** How long the first election waits for more candidates, in milliseconds; default 0. */
  readonly settleMs?: number;
  /** Whether the server drops `strategy` and `preferredHolder`, as with its feature gate off. */
  readonly dropsFields?: true;
  /** True: programs run in Pods. A kubelet restarts a crashed container, and coordinators watch Pods (rule 17). */
  readonly hasKubelet?: true;
  readonly faults: Partial<Faults>;
  /**
   * The holders that vandals write into the Lease; default: any other name. Coordinators cannot compensate for unseen
   * writes.
   */
  readonly thieves?: 'stranger';
  /** Led: the first program has the Lease and leads. */
  readonly start: 'empty' | 'led';
  /** How long it has led then, in ticks; the default is long enough for earlier events not to matter. */
  readonly ledForTicks?: number;
  /** True: a read and its update are one step. This has fewer states, and misses races that end in a conflict. */
  readonly isAtomic?: true;
  /** While a program is able to lead, the Lease must have a leader within this many ticks; undefined: not checked. */
  readonly ledWithinTicks?: number;
  /** True: search for cycles in which the Lease never has a leader although a program is able to lead. */
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

/** One tick for the answer to a ping, two for a grant. Candidates are valid for longer than a scenario lasts. */
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

/** The parameters of a world's steps, in addition to the world. */
export interface Setting {
  readonly scenario: Scenario;
  readonly rules: Rules;
}
