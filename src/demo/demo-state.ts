import { formatMicroTime } from '../coordination/micro-time.ts';
import type { Reason } from '../election/decision.ts';
import type { CandidateState } from '../election/view.ts';

export interface DemoState {
  /** `default/demo` */
  readonly leaseKey: string;
  readonly lease: LeaseState | undefined;
  /** Best candidate first. */
  readonly candidates: readonly CandidateRow[];
  readonly reason: Reason;
  readonly events: readonly DemoEvent[];
}

export interface LeaseState {
  /** `holder`, `preferredHolder` and `strategy` are empty if the Lease has none. */
  readonly holder: string;
  readonly preferredHolder: string;
  readonly strategy: string;
  readonly transitions: number;
  readonly durationMs: number;
  /** Time until the Lease expires; 0 after the expiry. */
  readonly remainingMs: number;
}

/**
 * The condition of a candidate: according to its program if the demo runs it, otherwise according to the election.
 * `yielding`: the candidate still leads, but no longer renews, because another candidate is preferred. `elected`: the
 * candidate has not taken up its grant.
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
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly at: bigint;
  /** The actor: the name of a candidate, `coordinator` or `you`. */
  readonly who: string;
  readonly text: string;
  /** True when a user should act. */
  readonly isTrouble: boolean;
}

/** Receives events, in order. Must not throw. */
export type Tell = (who: string, text: string, isTrouble?: boolean) => void;

/** `13:24:05.123`, in UTC like all times in Kubernetes. */
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
