import type { ObserveController } from '../controller/controller-event.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import { changesCluster, type Decision, grantOf, preferredBy, REASONS } from '../election/decision.ts';
import type { Now } from '../election/model.ts';
import { type ElectionInput, surveyElection } from '../election/view.ts';
import { describeStatus } from '../inspection/lease-status.ts';
import { describeLoss } from '../inspection/wording.ts';
import { messageOf } from '../support/text.ts';
import { troubleLevels } from '../telemetry/election-result.ts';
import { changeEvents, nameCandidates, nameSome } from '../telemetry/lease-event.ts';
import type { Tell } from './demo-state.ts';

/**
 * Returns an observer that reports decisions, the state of the lock, unreadable priorities, and failures of decisions,
 * discovery and watches, but not of writes. If a decision only pings or does nothing, the observer reports it only if the
 * reason has changed since the last report about the Lease.
 * @param ownLease the Lease of the demo. Reports omit its name.
 */
export function createReport(tell: Tell, ownLease: LeaseKey, now: () => Now): ObserveController {
  const reasons = new Map<LeaseKey, Decision['reason']>();

  const report = (key: LeaseKey, decision: Decision, input: ElectionInput) => {
    const { reason } = decision;
    if (reasons.get(key) === reason && !changesCluster(decision)) return;
    reasons.set(key, reason);
    const about = key === ownLease ? '' : `${key}: `;
    const isTrouble = troubleLevels[reason] === 'warn';
    tell('coordinator', `${reason}: ${about}${describeDecision(decision, input, now())}`, isTrouble);
  };

  return (event) => {
    switch (event.type) {
      case 'decided':
        report(event.key, event.decision, event.input);
        break;
      case 'forgotten':
        reasons.delete(event.key);
        break;
      case 'priorityUnreadable':
        tell('coordinator', `the priority of ${event.name} cannot be read: ${event.annotation}`, true);
        break;
      case 'decisionFailed':
      case 'discoveryFailed':
      case 'watchFailed':
      case 'lockWatchFailed':
        tell('coordinator', `${event.type}: ${messageOf(event.error)}`, true);
        break;
      case 'lockChanged':
        if (event.state.kind === 'active') tell('coordinator', 'holds its lock, and decides');
        else tell('coordinator', `does not decide, as the state of its lock is ${event.state.kind}`, true);
        break;
      default:
    }
  };
}

/**
 * Describes what a decision does. Uses the texts of the Events, except for pings, which have no Event. If the decision
 * does nothing, says what the Lease waits for, or explains the reason. If the decision chooses a candidate, adds why
 * other candidates were not chosen.
 */
export function describeDecision(decision: Decision, input: ElectionInput, now: Now): string {
  const { actions, reason } = decision;
  const sentences = changeEvents(decision, input, undefined).map(({ message }) => message);
  const asked = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
  if (asked.length > 0) sentences.push(`asks ${nameSome(asked)} for a sign of life`);
  if (sentences.length === 0) {
    const { waitingFor } = describeStatus(decision, surveyElection(input, now));
    sentences.push(waitingFor === undefined ? REASONS[reason] : `waits for ${waitingFor}`);
  }
  const isChoice = (grantOf(decision)?.holder ?? preferredBy(decision)) !== undefined;
  const { named, more } = nameCandidates(decision);
  const passedOver = named.flatMap(({ name, state, lostBy }) => {
    if (lostBy === undefined) return [];
    return [`${name} (${lostBy === state ? state.toLowerCase() : describeLoss(lostBy)})`];
  });
  if (isChoice && passedOver.length > 0)
    sentences.push(`not ${passedOver.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  return sentences.join('; ');
}
