import type { CandidateAccount } from '../election/candidate-accounts.ts';
import type { Action, Decision } from '../election/decision.ts';
import { grantIn, grantOf, preferredBy } from '../election/decision-queries.ts';
import type { ElectionInput } from '../election/election-input.ts';
import { nameCandidates, nameSome } from '../telemetry/lease-event.ts';

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
