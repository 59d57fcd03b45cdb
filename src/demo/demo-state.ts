import { formatMicroTime } from '../coordination/micro-time.ts';
import {
  type Action,
  type CandidateAccount,
  type Decision,
  grantIn,
  grantOf,
  preferredBy,
  type Reason,
} from '../election/decision.ts';
import type { ElectionInput } from '../election/view.ts';
import { nameCandidates, nameSome } from '../telemetry/lease-event.ts';

export interface DemoState {
  /** `default/demo` */
  readonly leaseKey: string;
  /** Undefined if the Lease does not exist. */
  readonly lease: LeaseState | undefined;
  /** Best candidate first. */
  readonly candidates: readonly CandidateRow[];
  /** The reason of the coordinator's last decision about this Lease. */
  readonly reason: Reason | undefined;
  /** Recent events, oldest first. */
  readonly happenings: readonly Happening[];
}

export interface LeaseState {
  /** Empty for no holder. */
  readonly holder: string;
  /** Empty for none. */
  readonly preferredHolder: string;
  /** Empty for none. */
  readonly strategy: string;
  readonly transitions: number;
  /** The Lease duration, in milliseconds. */
  readonly durationMs: number;
  /** Time until the Lease expires, in milliseconds; 0 after that. */
  readonly remainingMs: number;
}

/**
 * The condition of a candidate.
 *
 * By its program: leading; yielding (still leads without renewing, while another candidate is preferred); paused; crashed.
 * By the election: elected (but has not taken up its grant); preferred; pinged (has not answered); fresh (has just
 * renewed); idle.
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

export interface CandidateRow {
  readonly name: string;
  readonly binaryVersion: string;
  readonly emulationVersion: string;
  /** The strategy that the candidate asks for. */
  readonly strategy: string;
  readonly condition: Condition;
  /** True when the Lease names the candidate as its holder. This remains so for a while after a crash. */
  readonly isHolder: boolean;
  readonly isPreferred: boolean;
}

/** An event that the demo shows. */
export interface Happening {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly at: bigint;
  /** The actor: the name of a candidate, `coordinator` or `you`. */
  readonly who: string;
  /** The reason of a decision. */
  readonly reason?: Reason;
  readonly text: string;
  /** True when a user should act. */
  readonly isTrouble: boolean;
}

/** Receives happenings, in order. Must not throw. */
export type Tell = (happening: Omit<Happening, 'at'>) => void;

/** `13:24:05.123`, in UTC like all times in Kubernetes. */
export function timeOfDay(at: bigint): string {
  return formatMicroTime(at).slice(11, 23);
}

/** Formats a happening in one line, without its time. */
export function describeHappening({ who, reason, text }: Happening): string {
  return `${who} ${reason === undefined ? '' : `${reason}: `}${text}`;
}

/** Formats a state in one line. */
export function describeState({ lease, candidates, reason }: DemoState): string {
  const rows = candidates.map(({ name, condition }) => `${name} ${condition}`).join(', ') || 'none';
  return `${describeLease(lease)}; candidates: ${rows}; last decision: ${reason ?? 'none'}`;
}

/** `3.2 s` */
export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

/**
 * Describes what a decision does, and why the other candidates were not chosen. The text follows the reason of the
 * decision.
 */
export function describeDecision(decision: Decision, { lease }: ElectionInput): string {
  const { outcome, actions } = decision;
  const holder = lease?.holderIdentity || 'nobody';
  const deeds = actions.flatMap((action) => describeAction(action, holder));
  const asked = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
  if (asked.length > 0) deeds.push(`asks ${nameSome(asked)} for a sign of life`);
  if (outcome.kind === 'conflict') deeds.push(`some want ${outcome.strategies.join(', others ')}`);
  if (deeds.length === 0) deeds.push(describeRest(decision));
  const isChoice = (grantOf(decision)?.holder ?? preferredBy(decision)) !== undefined;
  const { named, more } = nameCandidates(decision);
  const passedOver = named.flatMap((account) => describeLoss(account));
  if (isChoice && passedOver.length > 0) {
    deeds.push(`not ${passedOver.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  return deeds.join('; ');
}

function describeLease(lease: DemoState['lease']): string {
  if (!lease) return 'there is no Lease';
  const { holder, preferredHolder, strategy, remainingMs } = lease;
  const preferred = preferredHolder === '' ? '' : `, ${preferredHolder} is preferred`;
  const validity = remainingMs > 0 ? `for ${seconds(remainingMs)} more` : 'but it has run out';
  const held = holder === '' ? 'nobody holds the Lease' : `${holder} holds the Lease ${validity}`;
  return `${held}${preferred}, strategy ${strategy || 'none'}`;
}

/** Describes a decision without actions. */
function describeRest({ reason, standings }: Decision): string {
  const awaited = standings.flatMap(({ state, candidate }) => (state === 'Awaiting' ? [candidate.name] : []));
  if (reason === 'AwaitingAcks' && awaited.length > 0) return `waits for ${awaited.join(', ')} to answer`;
  // The Lease still names the holder after it has expired.
  const holding = standings.find(({ isHolder }) => isHolder)?.candidate.name;
  if (holding === undefined) return 'nothing can be done yet';
  return reason === 'RevisionPending'
    ? `${holding} has not taken the Lease up yet, and is to lose it to a better candidate`
    : `${holding} holds the Lease`;
}

/** Splits CamelCase: `HigherBinaryVersion` becomes "higher binary version". */
function inWords(word: string): string {
  return word.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

function describeAction(action: Action, holder: string): string[] {
  const grant = grantIn(action);
  if (grant?.revises) {
    return [`${grant.holder} gets the Lease instead of ${holder}, which has not taken it up`];
  }
  if (grant) {
    return [grant.holder === holder ? `${holder} gets the Lease again` : `${grant.holder} gets the Lease`];
  }
  if (action.kind === 'DeleteCandidate') return [`deletes ${action.name}`];
  if (action.kind === 'CreateLease') return [`a Lease without a holder, for ${action.strategy}`];
  if (action.kind !== 'UpdateLease') return [];
  const { change } = action;
  switch (change.kind) {
    case 'prefer':
      return [`${change.preferredHolder} is preferred to ${holder}, which is to give way`];
    case 'clearPreferredHolder':
      return ['nobody is preferred any longer'];
    case 'fence':
      return [`a fence takes the place of ${holder}, which could not be told to give way`];
    case 'strategy':
      return [`the Lease names the strategy ${change.strategy}`];
    default:
      return [];
  }
}

function describeLoss({ name, lostBy }: CandidateAccount): string[] {
  return lostBy === undefined ? [] : [`${name} (${inWords(lostBy)})`];
}
