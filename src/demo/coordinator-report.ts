import type { ControllerObserver } from '../controller/controller-parts.ts';
import type { LockObserver } from '../controller/coordinator.ts';
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

/** The observers of a coordinator. */
export interface CoordinatorReport {
  readonly observer: ControllerObserver;
  readonly lockObserver: LockObserver;
  /** Returns the reason of the last decision about a Lease; undefined if there was none. */
  lastReason(key: LeaseKey): Reason | undefined;
}

/**
 * Reports the coordinator's decisions and writes. Repeated decisions are reported once.
 *
 * @param ownLease the Lease of the demo, whose name is omitted.
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

  return {
    observer: {
      // A write is reported once it has succeeded.
      decided: (key, decision, input) => {
        if (!changesCluster(decision)) report(key, decision, input);
      },
      heldBack: () => {},
      written: () => {},
      applied: report,
      forgotten: (key) => reasons.delete(key),
      synced: () => {},
      gone: (apiVersion) => trouble(`the API server serves no ${apiVersion} LeaseCandidates any more`),
      twinSeen: (key, name) => trouble(`two candidates for ${key} are named ${name}`),
      priorityUnreadable: (_key, name, annotation) =>
        trouble(`the priority of ${name} cannot be read: ${annotation}`),
      notServed: () => trouble('the API server does not serve LeaseCandidates'),
      discoveryFailed: (error) => trouble('cannot ask what the API server serves', error),
      reflectorFailed: (error) => trouble('cannot watch', error),
      reflectorObserver: () => () => {},
      reconcileFailed: (key, error) => trouble(`cannot decide about ${key}`, error),
    },
    lockObserver: {
      changed: ({ kind, holder }) => {
        const by = holder === undefined ? '' : `, held by ${holder}`;
        if (kind === 'active') tell('coordinator', 'holds its lock, and decides');
        else trouble(`does not have its lock: ${kind}${by}`);
      },
      happened: () => {},
      watchFailed: (error) => trouble('cannot watch its lock', error),
      refused: (reason) => trouble(reason),
    },
    lastReason: (key) => reasons.get(key),
  };
}

/**
 * Describes what a decision does, in the words of the Events, or what it waits for; and why the other candidates were not
 * chosen. The text follows the reason of the decision.
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
