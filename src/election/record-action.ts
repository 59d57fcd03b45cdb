import {
  type CandidateObservation,
  HOUSEKEEPING_PINGS,
  recordPing,
  recordPingDelivered,
  recordPingNotSent,
} from './candidate-observation.ts';
import { type Action, type Decision, grantIn, type UpdateLease } from './decision.ts';
import { loseGrant, settleLostGrants, withoutAnswer, withoutGrant } from './former-holders.ts';
import { again, type LeaseMemory, recordGrantAnswered, recordIgnoredWrite } from './lease-memory.ts';
import type { Instant, Lease, LeaseCandidate } from './model.ts';
import { hasNotedWhatIsDropped } from './notes.ts';
import type { ElectionInput } from './view.ts';

/** The part of an ElectionInput that these functions change. `candidates` may omit candidates that stay the same. */
export type Known = Pick<ElectionInput, 'memory' | 'candidates'>;

/** Records the effects of a decision on the memory. Call this even if the decision has no actions. */
export function recordDecision<K extends Known>(known: K, decision: Decision, at: Instant): K {
  const { conflict, isRound, isAsking } = decision;
  let { memory } = known;
  if (isRound) memory = { ...memory, rounds: again(memory.rounds, at) };
  if (conflict !== undefined) memory = { ...memory, conflict };
  if (!isAsking && memory.askingSince !== undefined) memory = { ...memory, askingSince: undefined };
  return { ...known, memory };
}

/** Records an action before it is sent: the watch may show the written object before the server's answer arrives. */
export function recordSending<K extends Known & Pick<ElectionInput, 'settings'>>(
  known: K,
  action: Action,
  at: Instant,
): K {
  if (action.kind === 'PingCandidate') {
    const { purpose, pingTime } = action;
    return observing(known, action, (observation) =>
      recordPing(observation, purpose, at, known.settings, pingTime),
    );
  }
  let { memory } = known;
  // Forget the fields that we wrote last. If this update changes them, the change must not look like a removal by the holder.
  if (action.kind === 'UpdateLease') memory = { ...memory, written: {} };
  const grant = grantIn(action);
  // The memory has room for one grant in flight. Stop waiting for the answer to an earlier grant.
  if (grant) memory = { ...withoutAnswer(memory, at), grantOnItsWay: grant };
  return { ...known, memory };
}

/** Records a successful action, or a ping that the server permanently refused. `answer`: the Lease in the answer. */
export function recordSuccess<K extends Known>(
  known: K,
  action: Action,
  sentAt: Instant,
  at: Instant,
  answer?: Lease,
): K {
  let { memory } = known;
  if (action.kind === 'PingCandidate') {
    const isRoutine = HOUSEKEEPING_PINGS.has(action.purpose);
    // The waves are timed from the election's first ping that the server confirms or permanently refuses (rule 6).
    if (!isRoutine && memory.askingSince === undefined) memory = { ...memory, askingSince: at };
    const asked = { ...known, memory };
    return observing(asked, action, (observation) => recordPingDelivered(observation, sentAt, at));
  }
  const grant = grantIn(action);
  // All candidates have gone since the grant was sent: the Lease may come and go unseen, as if the answer had been lost.
  if (grant && memory.lostGrants.some((lost) => lost.grant === grant))
    memory = loseGrant({ ...withoutGrant(memory, grant), grantOnItsWay: grant }, at);
  else if (grant && answer)
    memory = recordGrantAnswered(settleLostGrants(memory, at), grant, answer.resourceVersion, at, sentAt);
  else if (action.kind === 'UpdateLease' && answer) memory = recordChange(memory, action, answer, at);
  return { ...known, memory };
}

/** Records an action whose request has failed, or whose result is unknown. */
export function recordFailure<K extends Known>(known: K, action: Action, sentAt: Instant, at: Instant): K {
  if (action.kind === 'DeleteCandidate')
    return observing(known, action, (observation) => ({ ...observation, deletionFailedAt: at }));
  // If the server has executed an update, the watch or a list shows a change. But they may miss a Lease that was created,
  // taken up and deleted: remember the grant of a creation.
  if (action.kind === 'CreateLease') return { ...known, memory: loseGrant(known.memory, at) };
  if (action.kind !== 'PingCandidate') return known;
  let { memory } = known;
  // The candidate may not have got the ping of this round. So make the pause before the next round short (rule 3).
  if (action.purpose === 'revival') memory = { ...memory, rounds: { count: 1, lastAt: sentAt } };
  return observing({ ...known, memory }, action, (observation) => recordPingNotSent(observation, sentAt));
}

/** Records, in addition to {@link recordFailure}, that the server certainly did not execute an action. */
export function recordRefusal<K extends Known>(known: K, action: Action): K {
  const grant = grantIn(action);
  return grant ? { ...known, memory: withoutGrant(known.memory, grant) } : known;
}

/** Records a successful write to a Lease, other than a grant. */
function recordChange(memory: LeaseMemory, action: UpdateLease, answer: Lease, at: Instant): LeaseMemory {
  const { change } = action;
  if (change.kind === 'fence' || change.kind === 'release') return memory;
  if (change.kind === 'clearPreferredHolder') {
    if (!change.hasFailed) return memory;
    return { ...memory, failedPreemptions: again(memory.failedPreemptions, at) };
  }
  const { strategy } = change;
  const written =
    change.kind === 'prefer' ? { strategy, preferredHolder: change.preferredHolder } : { strategy };
  const { preferredHolder = answer.preferredHolder } = written;
  const isKept = answer.strategy === strategy && answer.preferredHolder === preferredHolder;
  if (isKept) return { ...memory, written, decidedAt: at };
  // The server dropped or changed a field. If the write had no note of a dropped field, the next write adds the note
  // (rule 14). Otherwise, back off: the server has also dropped the note, or has changed a value.
  return hasNotedWhatIsDropped(action, answer) ? recordIgnoredWrite(memory, at) : memory;
}

/** Changes the observation of an action's candidate. Does nothing if the name now belongs to another uid. */
function observing<K extends Known>(
  known: K,
  { name, uid }: Pick<LeaseCandidate, 'name' | 'uid'>,
  change: (observation: CandidateObservation) => CandidateObservation,
): K {
  const candidates = known.candidates.map((observed) => {
    const { candidate, observation } = observed;
    const isIt = candidate.name === name && candidate.uid === uid;
    return isIt ? { candidate, observation: change(observation) } : observed;
  });
  return { ...known, candidates };
}
