import { MAX_ASKED_AT_ONCE, pingTo } from './actions.ts';
import { ackDueAt, lastRenewedAt } from './candidate-observation.ts';
import type { Action } from './decision.ts';
import type { Instant } from './model.ts';
import { isPingPending, type Verdict } from './verdict.ts';
import type { Standing, View } from './view.ts';

const COLLECTION_RETRY_MS = 10 * 60_000;
/** Number of unanswered pings before the coordinator deletes a candidate (rule 1). */
const COLLECTION_PINGS = 3;
/**
 * Minimum time from the first collection ping to the deletion, in milliseconds. It is long, because a wrong deletion is
 * expensive: client-go publishes the candidate again only minutes later, and its Lease may have no leader until then.
 */
const COLLECTION_WATCH_MS = 10 * 60_000;
/** Maximum time without a renewal before a candidate gets a ping, in ms. client-go's candidates renew every 5 min. */
const SILENT_AFTER_MS = 6 * 60_000;

/** Decides about the pings and deletions that do not depend on the election (rule 1). */
export function decideHousekeeping(view: View): Pick<Verdict, 'actions' | 'recheckAt'> {
  const actions: Action[] = [];
  let next = Number.POSITIVE_INFINITY;
  for (const standing of [...view.standings, ...view.twins]) {
    if (standing.state === 'Deleting') continue;
    const due = decideOne(view, standing);
    if (due.now && actions.length < MAX_ASKED_AT_ONCE) actions.push(actionFor(view, standing, due.now));
    next = Math.min(next, due.next);
  }
  return { actions, recheckAt: [next] };
}

interface Due {
  readonly now: 'validity' | 'collection' | 'deletion' | undefined;
  /** When to check the candidate again; Infinity if only an event, such as a renewal, requires a check. */
  readonly next: Instant;
}

function actionFor(view: View, standing: Standing, due: NonNullable<Due['now']>): Action {
  if (due !== 'deletion') return pingTo(view, standing, due);
  const { source, name, uid, resourceVersion } = standing.candidate;
  return { kind: 'DeleteCandidate', source, name, uid, resourceVersion };
}

function decideOne(view: View, standing: Standing): Due {
  const { at, input } = view;
  const { settings } = input;
  const { observation, candidate } = standing;
  const renewedAt = lastRenewedAt(observation);
  const collectAt = Math.min(renewedAt + settings.candidateGcAfterMs, goneAt(view, standing));
  if (at >= collectAt) return decideCollection(view, standing);

  const refreshAt = renewedAt + refreshAfterMs(candidate.uid, settings.candidateValidityMs);
  const expiresAt = renewedAt + settings.candidateValidityMs;
  const next = Math.min(collectAt, after(at, refreshAt), after(at, expiresAt));
  const { ping } = observation;
  if (isClockSetBack(view, standing)) {
    const askAgainAt = ping ? ackDueAt(ping, settings) : at;
    return { now: at >= askAgainAt ? 'validity' : undefined, next: Math.min(next, after(at, askAgainAt)) };
  }
  const isAsked = ping !== undefined && ping.ackedAt === undefined;
  return { now: at >= refreshAt && at < expiresAt && !isAsked ? 'validity' : undefined, next };
}

function after(at: Instant, moment: Instant): Instant {
  return moment > at ? moment : Number.POSITIVE_INFINITY;
}

/**
 * True if a candidate has just renewed with a renewTime long before its pingTime: its clock was set back. A client-go
 * candidate then renews in a loop, until its clock passes pingTime or a new ping sets an earlier pingTime (rule 2).
 */
function isClockSetBack({ at, input }: View, { candidate, observation }: Standing): boolean {
  const { renewTime, pingTime } = candidate;
  if (renewTime === undefined || pingTime === undefined || at >= observation.freshUntil) return false;
  return pingTime - renewTime > BigInt(input.settings.electionDurationMs) * 1000n;
}

/** Returns when a collection is due after a release or proven end; Infinity without one, or after a later renewal. */
function goneAt({ input }: View, { candidate, observation }: Standing): Instant {
  const withdrawnAt = input.memory.withdrawals.get(candidate.name);
  if (withdrawnAt === undefined || observation.unchangedSince > withdrawnAt) return Number.POSITIVE_INFINITY;
  return withdrawnAt + input.settings.electionDurationMs;
}

/** Returns the time from a renewal until a ping is due, in ms. Depends on the uid, to spread the pings over time. */
function refreshAfterMs(uid: string, validityMs: number): number {
  let hash = 0;
  for (let index = 0; index < uid.length; index++) hash = (hash * 31 + uid.charCodeAt(index)) % 1024;
  return Math.min(validityMs / 2, SILENT_AFTER_MS) * (1 - (0.1 * hash) / 1024);
}

function decideCollection(view: View, standing: Standing): Due {
  const { observation, isHolder } = standing;
  const never = Number.POSITIVE_INFINITY;
  // Keep the candidate of a valid holder: the holder's renewals of the Lease count as answers.
  if (isHolder) return { now: undefined, next: never };
  const { ping, collection } = observation;
  if (ping && isPingPending(view, standing))
    return { now: undefined, next: ackDueAt(ping, view.input.settings) };
  const retryAt = observation.deletionFailedAt + COLLECTION_RETRY_MS;
  if (view.at < retryAt) return { now: undefined, next: retryAt };
  if (collection && collection.pings >= COLLECTION_PINGS) {
    const deletableAt = collection.firstAt + COLLECTION_WATCH_MS;
    if (view.at < deletableAt) return { now: undefined, next: deletableAt };
    return { now: 'deletion', next: view.at + COLLECTION_RETRY_MS };
  }
  const askAt = collection ? collection.lastAt + COLLECTION_WATCH_MS / (COLLECTION_PINGS - 1) : view.at;
  if (view.at < askAt) return { now: undefined, next: askAt };
  return { now: 'collection', next: never };
}
