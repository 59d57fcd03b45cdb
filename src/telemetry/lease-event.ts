import {
  type Action,
  type Decision,
  explainCandidates,
  REASONS,
  type Reason,
  rankCandidates,
} from '../election/decision.ts';
import type { Grant } from '../election/lease-memory.ts';
import type { Lease } from '../election/model.ts';
import type { ElectionInput } from '../election/view.ts';

/** Reasons that only Events have. An Event can also have the reason of a decision. */
type EventReason =
  | 'LeaderElected'
  | 'LeaderPreempted'
  | 'PreferredHolderSet'
  | 'HolderFenced'
  | 'StrategyResolved'
  | 'CandidateCollected';

export interface LeaseEvent {
  readonly lease: {
    readonly namespace: string;
    readonly name: string;
    /** Undefined if the Lease does not exist. */
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
  };
  readonly type: 'Normal' | 'Warning';
  readonly reason: EventReason | Reason;
  /** Contains nothing that changes with each repetition, so that repeated Events have equal messages. */
  readonly message: string;
}

/**
 * Returns the Events that report the writes of a decision, except pings. The Events refer to `written`, the Lease after
 * these writes. Without `written`, they refer to the Lease in `input`.
 */
export function changeEvents(
  decision: Decision,
  input: ElectionInput,
  written: Lease | undefined,
): readonly LeaseEvent[] {
  const at = referTo(input, written);
  return decision.actions.flatMap((action) => {
    const told = describeAction(action, decision, input);
    return told ? [{ lease: at, ...told }] : [];
  });
}

/** Returns the Event that reports the beginning of a problem. `level` is the log level of the problem. */
export function troubleEvent(decision: Decision, input: ElectionInput, level: 'info' | 'warn'): LeaseEvent {
  return {
    lease: referTo(input),
    type: level === 'warn' ? 'Warning' : 'Normal',
    reason: decision.reason,
    message: describeTrouble(decision),
  };
}

/** Returns the Event that reports the end of a strategy conflict: the candidates agree on `strategy` again. */
export function resolutionEvent(strategy: string, input: ElectionInput): LeaseEvent {
  return {
    lease: referTo(input),
    ...normal('StrategyResolved', `The candidates agree on ${strategy} again`),
  };
}

/** A log line or an Event names at most this number of items, such as candidates, and only counts the others (rule 9). */
export const MAX_NAMED = 10;

/**
 * Describes at most {@link MAX_NAMED} candidates of a decision, the chosen candidate first. `more` is the number of the
 * other candidates.
 */
export function nameCandidates(decision: Decision) {
  const standings = rankCandidates(decision, MAX_NAMED);
  const named = explainCandidates({ ...decision, standings });
  return { named, more: decision.standings.length - named.length };
}

/** Lists at most {@link MAX_NAMED} words, and gives the number of the other words: `a, b and 3 more`. */
export function nameSome(words: readonly string[]): string {
  const more = words.length - MAX_NAMED;
  const named = words.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}

type Told = Pick<LeaseEvent, 'type' | 'reason' | 'message'>;

function normal(reason: LeaseEvent['reason'], message: string): Told {
  return { type: 'Normal', reason, message };
}

function describeAction(action: Action, decision: Decision, input: ElectionInput): Told | undefined {
  if (action.kind === 'PingCandidate') return undefined;
  if (action.kind === 'DeleteCandidate') {
    const message = `Deleted candidate ${action.name}, which has not renewed for long and answers no ping`;
    return normal('CandidateCollected', message);
  }
  if (action.kind === 'CreateLease') {
    const { grant, strategy } = action;
    return grant ? describeGrant(grant, decision, input) : describeDelegation(decision, strategy);
  }
  const { change } = action;
  const { holderIdentity: holder = '', preferredHolder = '' } = input.lease ?? {};
  switch (change.kind) {
    case 'grant':
      return describeGrant(change.grant, decision, input);
    case 'prefer': {
      const yielding = `${holder} is asked to yield to ${change.preferredHolder} under ${change.strategy}`;
      const why = forPriority(decision, change.preferredHolder, holder);
      return normal('PreferredHolderSet', `${yielding}${why}`);
    }
    case 'clearPreferredHolder':
      return {
        type: change.hasFailed ? 'Warning' : 'Normal',
        reason: decision.reason,
        message: `${preferredHolder} is not preferred any more. ${REASONS[decision.reason]}`,
      };
    case 'strategy':
      return describeDelegation(decision, change.strategy);
    case 'fence': {
      const message = `${holder} continued to renew, although ${preferredHolder} is preferred: a fence replaces it for ${change.leaseDurationSeconds} s`;
      return normal('HolderFenced', message);
    }
    case 'release':
      return normal('HolderEnded', `Emptied the Lease of ${holder}. ${REASONS.HolderEnded}`);
  }
}

function describeGrant(grant: Grant, decision: Decision, { memory }: ElectionInput): Told {
  const { holder, isPreemption, revises } = grant;
  const { outcome, reason } = decision;
  // Name the holder whose release emptied the Lease, if any; else the last holder that lost it.
  const [withdrawn, withdrawnAt] = [...memory.withdrawals].at(-1) ?? [];
  const isReleased = reason === 'LeaseReleased' && withdrawnAt === memory.record?.since;
  const former = isReleased ? withdrawn : grant.former;
  const after = revises ? `instead of ${former}, which had not taken the Lease up,` : `after ${former}`;
  const how = former === undefined ? '' : former === holder ? ' again' : ` ${after}`;
  const under = 'strategy' in outcome ? ` under ${outcome.strategy}` : '';
  const isPreempted = isPreemption && former !== holder;
  const why = isPreempted ? forPriority(decision, holder, former) : '';
  return normal(
    isPreempted ? 'LeaderPreempted' : 'LeaderElected',
    `${holder} leads${how}${under}${why}: ${reason}`,
  );
}

/** Returns an explanation if the winner has a higher priority than the loser (rule 16); otherwise an empty text. */
function forPriority({ standings }: Decision, winner: string, loser: string | undefined): string {
  const priorityOf = (name: string | undefined) =>
    standings.find(({ candidate }) => candidate.name === name)?.candidate.priority.value;
  const [higher, lower] = [priorityOf(winner), priorityOf(loser)];
  return higher !== undefined && lower !== undefined && higher > lower ? ', for its higher priority' : '';
}

function describeDelegation({ reason }: Decision, strategy: string): Told {
  const isDelegated = reason === 'ThirdPartyStrategy';
  return normal(reason, isDelegated ? thirdPartyMessage(strategy) : `The strategy is ${strategy} now`);
}

function describeTrouble({ reason, outcome }: Decision): string {
  if (outcome.kind === 'conflict') return `The candidates disagree: ${nameSome(outcome.strategies)}`;
  if (outcome.kind === 'thirdParty') return thirdPartyMessage(outcome.strategy);
  return REASONS[reason];
}

function thirdPartyMessage(strategy: string): string {
  return `The strategy ${strategy} is carried out by another controller`;
}

function referTo({ namespace, name, lease }: ElectionInput, current = lease): LeaseEvent['lease'] {
  return { namespace, name, uid: current?.uid, resourceVersion: current?.resourceVersion };
}
