import { formatMicroTime } from '../coordination/micro-time.ts';
import type { CandidateAccount } from '../election/candidate-accounts.ts';
import type { Action, Decision } from '../election/decision.ts';
import { grantIn, grantOf, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import type { Reason } from '../election/reason.ts';
import { nameCandidates, nameSome } from '../telemetry/lease-event.ts';

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

/** Something worth telling whoever watches the demo. */
export interface Happening {
  /** The wall clock, in microseconds since the Unix epoch. */
  readonly at: bigint;
  /** Who did it or had it happen: a candidate's name, `coordinator`, `you`. */
  readonly who: string;
  /** Set for a decision. */
  readonly reason?: Reason;
  /** In words. */
  readonly text: string;
  /** True when somebody should do something about it. */
  readonly isTrouble: boolean;
}

/** Takes what happens, in order. Must not throw. */
export type Tell = (happening: Omit<Happening, 'at'>) => void;

/** `13:24:05.123`, in UTC as everything in Kubernetes. */
export function timeOfDay(at: bigint): string {
  return formatMicroTime(at).slice(11, 23);
}

/** One line for what happened; the time is left to the caller. */
export function describeHappening({ who, reason, text }: Happening): string {
  return `${who} ${reason === undefined ? '' : `${reason}: `}${text}`;
}

/** All that matters of a state, in one line. */
export function describeState({ lease, candidates, reason }: DemoState): string {
  const rows = candidates.map(({ name, condition }) => `${name} ${condition}`).join(', ') || 'none';
  return `${describeLease(lease)}; candidates: ${rows}; last decision: ${reason ?? 'none'}`;
}

/** `3.2 s` */
export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(1)} s`;
}

/** What a decision does, and why the others were not chosen, in words that follow its reason. */
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

/** What there is to say of a decision that does nothing. */
function describeRest({ reason, standings }: Decision): string {
  const awaited = standings.flatMap(({ state, candidate }) => (state === 'Awaiting' ? [candidate.name] : []));
  if (reason === 'AwaitingAcks' && awaited.length > 0) return `waits for ${awaited.join(', ')} to answer`;
  // By the Lease alone one whose time has run out would hold it still.
  const holding = standings.find(({ isHolder }) => isHolder)?.candidate.name;
  if (holding === undefined) return 'nothing can be done yet';
  return reason === 'RevisionPending'
    ? `${holding} has not taken the Lease up yet, and is to lose it to a better candidate`
    : `${holding} holds the Lease`;
}

/** A word in CamelCase as separate ones: `HigherBinaryVersion` is "higher binary version". */
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
