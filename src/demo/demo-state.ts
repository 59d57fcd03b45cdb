import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Reason } from '../election/decision.ts';
import type { CandidateState } from '../election/view.ts';

export interface DemoState {
  /** The Lease of the demo: `default/demo`. */
  readonly leaseKey: string;
  readonly lease: LeaseState | undefined;
  /** The candidates, the best one first. */
  readonly candidates: readonly CandidateRow[];
  readonly reason: Reason;
  readonly events: readonly DemoEvent[];
}

export interface LeaseState {
  /** `holder`, `preferredHolder` and `strategy` are '' if the field of the Lease is not set. */
  readonly holder: string;
  readonly preferredHolder: string;
  readonly strategy: string;
  readonly transitions: number;
  readonly durationMs: number;
  /** Time until the Lease expires; 0 if the Lease has no valid holder. */
  readonly remainingMs: number;
}

/**
 * The condition of a candidate. The first six values come from its program and the Lease. If none of them applies, the
 * condition is the candidate's state in the election. `yielding`: the candidate still leads, but has to stop renewing,
 * because another candidate is preferred. `elected`: the candidate holds the Lease, but does not lead, usually because
 * it has not taken up its grant yet.
 */
export type Condition =
  | 'leading'
  | 'yielding'
  | 'paused'
  | 'crashed'
  | 'elected'
  | 'preferred'
  | Lowercase<CandidateState>;

export interface CandidateRow {
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  readonly strategy: string;
  readonly condition: Condition;
}

export interface DemoEvent {
  /** When the event happened, by the wall clock, in microseconds since the Unix epoch. */
  readonly at: bigint;
  /** The actor: the name of a candidate, `coordinator`, `server`, `status page` or `you`. */
  readonly who: string;
  readonly text: string;
  /** True for a problem. The live screen shows problems in yellow. */
  readonly isTrouble: boolean;
}

/** Records an event: `who` is the actor, and `text` says what the actor does. Must not throw. */
export type Tell = (who: string, text: string, isTrouble?: boolean) => void;

/** Formats a time as `13:24:05.123`, in UTC like all times in Kubernetes. */
export function timeOfDay(at: bigint): string {
  return formatMicroTime(at).slice(11, 23);
}

export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

export function describeState({ lease, candidates, reason }: DemoState): string {
  const rows = candidates.map(({ name, condition }) => `${name} ${condition}`).join(', ') || 'none';
  return `${describeLease(lease)}; candidates: ${rows}; decision: ${reason}`;
}

function describeLease(lease: LeaseState | undefined): string {
  if (!lease) return 'there is no Lease';
  const { holder, preferredHolder, strategy, remainingMs } = lease;
  const preferred = preferredHolder === '' ? '' : `, ${preferredHolder} is preferred`;
  const validity = remainingMs > 0 ? `for ${seconds(remainingMs)} more` : 'but it has expired';
  const held = holder === '' ? 'no candidate holds the Lease' : `${holder} holds the Lease ${validity}`;
  return `${held}${preferred}, strategy ${strategy || 'none'}`;
}
