import { isUnanswered } from './candidate-observation.ts';
import type { Action } from './decision.ts';
import type { Standing } from './survey.ts';
import type { Instant } from './time.ts';
import { isPingPending, pingEach, type Verdict, type View } from './view.ts';

/** How long after a deletion that failed it is tried again, in milliseconds: nobody waits for it. */
const COLLECTION_RETRY_MS = 10 * 60_000;

/**
 * What is due to candidates whatever becomes of the election (rule 1): those still valid are asked for a sign of life
 * half way through their validity, those that stopped renewing hours ago are asked once more and then deleted.
 */
export function decideHousekeeping(view: View): Pick<Verdict, 'actions' | 'recheckAt'> {
  const due = view.standings
    .filter(({ state }) => state !== 'Deleting')
    .map((standing) => decideOne(view, standing));
  return {
    actions: due.flatMap(({ actions }) => actions),
    recheckAt: due.flatMap(({ recheckAt }) => recheckAt),
  };
}

interface Due {
  readonly actions: readonly Action[];
  readonly recheckAt: readonly (Instant | undefined)[];
}

function decideOne(view: View, standing: Standing): Due {
  const { settings } = view.input;
  const { observation, candidate } = standing;
  const renewedAt = observation.unchangedSince - observation.ageAtFirstSightMs;
  const refreshAt = renewedAt + refreshAfterMs(candidate.uid, settings.candidateValidityMs);
  const expiresAt = renewedAt + settings.candidateValidityMs;
  const collectAt = renewedAt + settings.candidateGcAfterMs;
  const recheckAt = [refreshAt, expiresAt, collectAt];

  if (view.at >= collectAt) return decideCollection(view, standing, collectAt);
  const askAgainAt = observation.ping && observation.ping.sentAt + settings.electionDurationMs;
  if (isClockSetBack(view, standing)) {
    const isDue = askAgainAt === undefined || view.at >= askAgainAt;
    return {
      actions: isDue ? pingEach(view, [standing], 'validity') : [],
      recheckAt: [...recheckAt, askAgainAt],
    };
  }
  const isAsked = observation.ping !== undefined && observation.ping.ackedAt === undefined;
  const isRefreshDue = view.at >= refreshAt && view.at < expiresAt && !isAsked;
  return { actions: isRefreshDue ? pingEach(view, [standing], 'validity') : [], recheckAt };
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

/** Spread over a tenth of the time, by uid: candidates that were all seen first at one moment are not pinged at one. */
function refreshAfterMs(uid: string, validityMs: number): number {
  let hash = 0;
  for (const character of uid) hash = (hash * 31 + character.charCodeAt(0)) % 1024;
  return (validityMs / 2) * (1 - (0.1 * hash) / 1024);
}

function decideCollection(view: View, standing: Standing, collectAt: Instant): Due {
  const { observation, candidate, isHolder } = standing;
  const { settings } = view.input;
  // A valid holder's candidate stays: the holder's renewals of its Lease are its answer.
  if (isHolder) return { actions: [], recheckAt: [] };
  if (isPingPending(view, standing)) {
    return { actions: [], recheckAt: [(observation.ping?.sentAt ?? view.at) + settings.electionDurationMs] };
  }
  const retryAt = observation.deletionFailedAt + COLLECTION_RETRY_MS;
  if (view.at < retryAt) return { actions: [], recheckAt: [retryAt] };
  const hadItsChance = observation.ping !== undefined && observation.ping.sentAt >= collectAt;
  if (hadItsChance && isUnanswered(observation, view.at, settings)) {
    const { name, uid, resourceVersion } = candidate;
    return {
      actions: [{ kind: 'DeleteCandidate', name, uid, resourceVersion }],
      recheckAt: [view.at + COLLECTION_RETRY_MS],
    };
  }
  return {
    actions: pingEach(view, [standing], 'collection'),
    recheckAt: [view.at + settings.electionDurationMs],
  };
}
