import { MOST_ASKED_AT_ONCE, pingTo } from './actions.ts';
import { ackDueAt } from './candidate-observation.ts';
import type { Action } from './decision.ts';
import type { Instant } from './model.ts';
import { isPingPending, type Verdict } from './verdict.ts';
import type { Standing, View } from './view.ts';

/** How long after a deletion that failed it is tried again, in milliseconds: nobody waits for it. */
const COLLECTION_RETRY_MS = 10 * 60_000;

/**
 * So often a candidate is asked before it is deleted, and so long it has to be silent to that, in milliseconds (rule 1):
 * client-go's publishes itself again only minutes later, and its Lease may be without a leader until then.
 */
const COLLECTION_PINGS = 3;
const COLLECTION_WATCH_MS = 10 * 60_000;

/** A candidate that is silent for longer is asked why: client-go's renew every 5 min, unless a renewal fails. */
const SILENT_AFTER_MS = 6 * 60_000;

/**
 * What is due to candidates whatever becomes of the election (rule 1): those that have missed a renewal are asked for a
 * sign of life once, those that stopped renewing hours ago, or have said that they go, a few times more and then deleted.
 */
export function decideHousekeeping(view: View): Pick<Verdict, 'actions' | 'recheckAt'> {
  const actions: Action[] = [];
  let next = Number.POSITIVE_INFINITY;
  for (const standing of [...view.standings, ...view.twins]) {
    if (standing.state === 'Deleting') continue;
    const due = decideOne(view, standing);
    if (due.now && actions.length < MOST_ASKED_AT_ONCE) actions.push(actionFor(view, standing, due.now));
    next = Math.min(next, due.next);
  }
  return { actions, recheckAt: [next] };
}

/** What is due to one candidate. */
interface Due {
  readonly now: 'validity' | 'collection' | 'deletion' | undefined;
  /** When something else may be due; Infinity: not before something changes. */
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
  const renewedAt = observation.unchangedSince - observation.ageAtFirstSightMs;
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

/** `moment`, if it is yet to come. */
function after(at: Instant, moment: Instant): Instant {
  return moment > at ? moment : Number.POSITIVE_INFINITY;
}

/**
 * Whether a candidate has just renewed, but to long before its last ping: its clock was set back. client-go's then renews
 * without a pause, until its clock has caught up with that ping or gets one that is behind it again (rule 2). A ping that
 * is merely unanswered is no further ahead than the renewal is old.
 */
function isClockSetBack({ at, input }: View, { candidate, observation }: Standing): boolean {
  const { renewTime, pingTime } = candidate;
  if (renewTime === undefined || pingTime === undefined || at >= observation.freshUntil) return false;
  return pingTime - renewTime > BigInt(input.settings.electionDurationMs) * 1000n;
}

/** From when a candidate that has released the Lease, and not renewed since, is known to go (rules 1 and 3). */
function goneAt({ input }: View, { candidate, observation }: Standing): Instant {
  const withdrawnAt = input.memory.withdrawals.get(candidate.name);
  if (withdrawnAt === undefined || observation.unchangedSince > withdrawnAt) return Number.POSITIVE_INFINITY;
  return withdrawnAt + input.settings.electionDurationMs;
}

/** Spread over a tenth of the time, by uid: candidates that were all seen first at one moment are not pinged at one. */
function refreshAfterMs(uid: string, validityMs: number): number {
  let hash = 0;
  for (let index = 0; index < uid.length; index++) hash = (hash * 31 + uid.charCodeAt(index)) % 1024;
  return Math.min(validityMs / 2, SILENT_AFTER_MS) * (1 - (0.1 * hash) / 1024);
}

function decideCollection(view: View, standing: Standing): Due {
  const { observation, isHolder } = standing;
  const never = Number.POSITIVE_INFINITY;
  // A valid holder's candidate stays: the holder's renewals of its Lease are its answer.
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
