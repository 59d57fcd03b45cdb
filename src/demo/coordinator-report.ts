import { type ControllerEvent, isApplied } from '../controller/controller-event.ts';
import type { LeaseKey } from '../coordination/lease-key.ts';
import {
  changesCluster,
  type Decision,
  grantOf,
  preferredBy,
  REASONS,
  type Reason,
} from '../election/decision.ts';
import type { Now } from '../election/model.ts';
import { type ElectionInput, surveyElection } from '../election/view.ts';
import { describeStatus } from '../inspection/lease-status.ts';
import { describeLoss } from '../inspection/wording.ts';
import { messageOf } from '../support/text.ts';
import { isTrouble } from '../telemetry/election-result.ts';
import { changeEvents, nameCandidates, nameSome } from '../telemetry/lease-event.ts';
import type { Tell } from './demo-state.ts';

/** Observes a coordinator. */
export interface CoordinatorReport {
  observe(event: ControllerEvent): void;
  /** Returns the reason of the last decision about a Lease; undefined if there was none. */
  lastReason(key: LeaseKey): Reason | undefined;
}

/**
 * Reports the coordinator's decisions and writes. Reports repeated decisions once.
 * @param ownLease the Lease of the demo. Reports omit its name.
 */
export function createReport(tell: Tell, ownLease: LeaseKey, now: () => Now): CoordinatorReport {
  const reasons = new Map<LeaseKey, Reason>();
  const trouble = (what: string, error?: unknown) =>
    tell('coordinator', error === undefined ? what : `${what}: ${messageOf(error)}`, true);

  const report = (key: LeaseKey, decision: Decision, input: ElectionInput) => {
    const { reason } = decision;
    const isNews = reasons.get(key) !== reason || changesCluster(decision);
    reasons.set(key, reason);
    if (!isNews) return;
    const about = key === ownLease ? '' : `${key}: `;
    tell('coordinator', `${reason}: ${about}${describeDecision(decision, input, now())}`, isTrouble(reason));
  };

  const observe = (event: ControllerEvent) => {
    switch (event.type) {
      case 'decided':
        // A write is reported after it has succeeded.
        if (!changesCluster(event.decision)) report(event.key, event.decision, event.input);
        break;
      case 'written':
        if (isApplied(event)) report(event.key, event.decision, event.input);
        break;
      case 'forgotten':
        reasons.delete(event.key);
        break;
      case 'gone':
        trouble(`the API server serves no ${event.apiVersion} LeaseCandidates any more`);
        break;
      case 'twinSeen':
        trouble(`two candidates for ${event.key} are named ${event.name}`);
        break;
      case 'priorityUnreadable':
        trouble(`the priority of ${event.name} cannot be read: ${event.annotation}`);
        break;
      case 'notServed':
        trouble('the API server does not serve LeaseCandidates');
        break;
      case 'discoveryFailed':
        trouble('cannot ask what the API server serves', event.error);
        break;
      case 'watchFailed':
        trouble('cannot watch', event.error);
        break;
      case 'decisionFailed':
        trouble(`cannot decide about ${event.key}`, event.error);
        break;
      case 'lockChanged': {
        const { kind, holder } = event.state;
        const by = holder === undefined ? '' : `, held by ${holder}`;
        if (kind === 'active') tell('coordinator', 'holds its lock, and decides');
        else trouble(`does not have its lock: ${kind}${by}`);
        break;
      }
      case 'lockWatchFailed':
        trouble('cannot watch its lock', event.error);
        break;
      case 'lockRefused':
        trouble(event.reason);
        break;
      default:
    }
  };

  return {
    observe,
    lastReason: (key) => reasons.get(key),
  };
}

/**
 * Describes a decision: what it does, in the words of the Events, or what it waits for. Adds why the other candidates
 * were not chosen. The text depends on the decision's reason.
 */
export function describeDecision(decision: Decision, input: ElectionInput, now: Now): string {
  const { actions, reason } = decision;
  const deeds = changeEvents(decision, input, undefined).map(({ message }) => message);
  const asked = actions.flatMap((action) => (action.kind === 'PingCandidate' ? [action.name] : []));
  if (asked.length > 0) deeds.push(`asks ${nameSome(asked)} for a sign of life`);
  if (deeds.length === 0) {
    const election = { input, rawLease: undefined };
    const { waitingFor } = describeStatus(election, decision, surveyElection(input, now), now);
    deeds.push(waitingFor === undefined ? REASONS[reason] : `waits for ${waitingFor}`);
  }
  const isChoice = (grantOf(decision)?.holder ?? preferredBy(decision)) !== undefined;
  const { named, more } = nameCandidates(decision);
  const passedOver = named.flatMap(({ name, state, lostBy }) => {
    if (lostBy === undefined) return [];
    return [`${name} (${lostBy === state ? state.toLowerCase() : describeLoss(lostBy)})`];
  });
  if (isChoice && passedOver.length > 0) {
    deeds.push(`not ${passedOver.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
  return deeds.join('; ');
}
