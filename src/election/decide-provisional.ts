import { grantTo, pingEach } from './actions.ts';
import { askAhead, nextWaveAt } from './ask.ts';
import { ackDueAt } from './candidate-observation.ts';
import { takeUpMs } from './lease-memory.ts';
import type { Instant } from './model.ts';
import { decideOutcome } from './outcome.ts';
import { ackDeadline, livenessExpiry, type Verdict } from './verdict.ts';
import { candidatesIn, type HeldView, isHeldBack } from './view.ts';

/**
 * Time in which all candidates of a starting component appear, in milliseconds. The first grant and its first revision
 * are made at once. The second revision waits for this time, so that three writes are enough. client-go's elector cannot
 * have taken up the first grant by then: it reads the Lease at its start, before the Lease exists, and again 2 s later.
 */
const ALL_STARTED_MS = 2000;
const BEFORE_FIRST_LOOK_MS = 1600;
const BETWEEN_REVISIONS_MS = 300;

/** How long before the end of an untaken grant other candidates are pinged (rule 12). */
const ASK_AHEAD_MS = 500;

/**
 * Revises a grant that its holder has not taken up yet (rule 12). The holder does not lead yet, so a better candidate
 * gets the Lease at once. The write fails if the holder's first renewal comes first. No leader has to yield, so age and
 * name count too. After the time in which a running holder takes up a grant, every other candidate counts as better.
 */
export function decideProvisional(view: HeldView): Verdict | undefined {
  const { tenure, input, at } = view;
  if (!tenure.isProvisional) return undefined;
  // A held-back holder got the Lease only because no other candidate could lead.
  const live = candidatesIn(view.standings, 'Live').filter(({ name }) => !isHeldBack(input, name, at));
  const lateAt = takeUpBy(view);
  const isLate = at >= lateAt;
  const outcome = decideOutcome(isLate ? live.filter(({ name }) => name !== tenure.holder) : live);
  if (outcome.kind !== 'leader' || outcome.leader.name === tenure.holder) return undefined;
  // The pinged candidates answer one by one. Wait until the grant is late, so that it counts as a lapse.
  const isAsking = !isLate && at >= lateAt - ASK_AHEAD_MS;
  const revisableAt = Math.max(nextRevisionAt(view), isAsking ? lateAt : Number.NEGATIVE_INFINITY);
  if (at < revisableAt) return { reason: 'RevisionPending', recheckAt: [revisableAt] };
  const revises = isLate ? 'holderLate' : 'holderWorse';
  return { reason: 'GrantRevised', actions: grantTo(view, outcome.leader.name, outcome.strategy, revises) };
}

/** Pings the other candidates before an untaken grant ends, and its holder at the end (rule 12). */
export function pingAheadOfTakeUp(view: HeldView, verdict: Verdict): Verdict {
  const { tenure, input, at } = view;
  if (!tenure.isProvisional || verdict.reason === 'GrantRevised') return verdict;
  const giveUpAt = takeUpBy(view);
  const askAt = giveUpAt - ASK_AHEAD_MS;
  const grantee = view.standings.find(({ isHolder }) => isHolder);
  const ping = grantee?.observation.ping;
  // From this moment on, the holder counts as silent.
  const silentAt = ping && ackDueAt(ping, input.settings);
  if (at < askAt) return { ...verdict, recheckAt: [...(verdict.recheckAt ?? []), askAt, silentAt] };
  const isAsked = ping !== undefined && ping.sentAt >= giveUpAt;
  const isDue = grantee && !grantee.isAlive && at >= giveUpAt && !isAsked;
  const asked = pingEach(view, isDue ? [grantee] : [], 'expiry');
  const others = askAhead(view, Math.max(giveUpAt, at), tenure.holder);
  return {
    ...verdict,
    actions: [...(verdict.actions ?? []), ...asked, ...others],
    recheckAt: [
      ...(verdict.recheckAt ?? []),
      ...[giveUpAt, silentAt],
      ...[ackDeadline(view), nextWaveAt(view), livenessExpiry(view)],
    ],
    isAsking: true,
  };
}

/** Returns until when a running holder takes up its grant. Counts from the server's answer, or from the first sight. */
function takeUpBy({ input: { memory, settings }, at }: HeldView): Instant {
  const seenAt = memory.record?.since ?? at;
  return memory.unrenewedGrant?.takeUpBy ?? seenAt + takeUpMs(settings.leaseDurationSeconds);
}

function nextRevisionAt({ input: { memory } }: HeldView): Instant {
  const { grantSeries, decidedAt } = memory;
  if (grantSeries.count < 2) return Number.NEGATIVE_INFINITY;
  const soonAt = decidedAt + BETWEEN_REVISIONS_MS;
  if (grantSeries.count > 2) return soonAt;
  return Math.max(soonAt, Math.min(grantSeries.since + ALL_STARTED_MS, decidedAt + BEFORE_FIRST_LOOK_MS));
}
