import { grantTo, pingEach } from './actions.ts';
import { askAhead, nextWaveAt } from './ask.ts';
import { ackDueAt } from './candidate-observation.ts';
import { takeUpMs } from './lease-memory.ts';
import type { Instant } from './model.ts';
import { decideOutcome, essentials } from './outcome.ts';
import { ackDeadline, livenessExpiry, type Verdict } from './verdict.ts';
import { type HeldView, isHeldBack, type Standing, standingsIn } from './view.ts';

/**
 * When a component starts, its candidates appear within one or two seconds, in any order. The first grant and its first
 * revision are made at once. The second revision waits until no more candidates are expected, so that three writes are
 * enough. It does not wait so long that client-go's elector may have taken up the first grant: the elector reads the Lease
 * at its start, before the Lease exists, and again 2 s later. In milliseconds.
 */
const ALL_STARTED_MS = 2000;
const BEFORE_FIRST_LOOK_MS = 1600;
const BETWEEN_REVISIONS_MS = 300;

/** How long before a grant is given up others are pinged: a running elector has taken it up before (rule 12). */
const ASK_AHEAD_MS = 500;

/**
 * Revises a grant that its holder has not taken up yet (rule 12). The holder does not lead yet, so that a better candidate
 * gets the Lease at once. The write fails if the holder's first renewal comes first. No leader has to yield, so that age
 * and name count too. Once a running holder would have taken the grant up, every other candidate counts as better.
 */
export function decideProvisional(view: HeldView): Verdict | undefined {
  const { tenure, input, at } = view;
  if (!tenure.isProvisional) return undefined;
  // A holder that is held back got the Lease only because no other candidate could lead.
  const live = standingsIn(view.standings, 'Live').filter(
    ({ candidate }) => !isHeldBack(input, candidate.name, at),
  );
  const lateAt = takeUpBy(view);
  const isLate = at >= lateAt;
  const outcome = outcomeAmong(isLate ? live.filter(({ isHolder }) => !isHolder) : live);
  if (outcome.kind !== 'leader' || outcome.leader.name === tenure.holder) return undefined;
  // Candidates that were pinged ahead answer one by one. Wait until the grant is late, so that it counts as a lapse.
  const isAsking = !isLate && at >= lateAt - ASK_AHEAD_MS;
  const revisableAt = Math.max(nextRevisionAt(view), isAsking ? lateAt : Number.NEGATIVE_INFINITY);
  if (at < revisableAt) return { reason: 'RevisionPending', recheckAt: [revisableAt] };
  const revises = isLate ? 'holderLate' : 'holderWorse';
  return { reason: 'GrantRevised', actions: grantTo(view, outcome.leader.name, outcome.strategy, revises) };
}

function outcomeAmong(standings: readonly Standing[]) {
  return decideOutcome(essentials(standings.map(({ candidate }) => candidate)));
}

/** Pings the other candidates before a grant that is not taken up is given up, and its holder then (rule 12). */
export function pingAheadOfTakeUp(view: HeldView, verdict: Verdict): Verdict {
  const { tenure, input, at } = view;
  if (!tenure.isProvisional || verdict.reason === 'GrantRevised') return verdict;
  const giveUpAt = takeUpBy(view);
  const askAt = giveUpAt - ASK_AHEAD_MS;
  const holders = view.standings.filter(({ isHolder }) => isHolder);
  const [ping] = holders.flatMap(({ observation }) => observation.ping ?? []);
  // The holder counts as silent from this moment.
  const silentAt = ping && ackDueAt(ping, input.settings);
  if (at < askAt) return { ...verdict, recheckAt: [...(verdict.recheckAt ?? []), askAt, silentAt] };
  const isAsked = ping !== undefined && ping.sentAt >= giveUpAt;
  const grantee = holders.filter(({ isAlive }) => !isAlive);
  const asked = at >= giveUpAt && !isAsked ? pingEach(view, grantee, 'expiry') : [];
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

/** Returns when a running holder has taken up its grant, counted from the server's answer or the first sight of it. */
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
