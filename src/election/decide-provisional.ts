import { grantTo, pingEach } from './actions.ts';
import { askAhead, nextWaveAt } from './ask.ts';
import { ackDueAt } from './candidate-observation.ts';
import { takeUpMs } from './lease-memory.ts';
import type { Instant } from './model.ts';
import { decideOutcome, essentials } from './outcome.ts';
import { ackDeadline, livenessExpiry, type Verdict } from './verdict.ts';
import { type HeldView, isHeldBack, type Standing, standingsIn } from './view.ts';

/**
 * When a component starts, its candidates appear within a second or two, in any order. The first grant and its first
 * revision are made at once; the second revision waits until no more candidates are to be expected, so that three writes
 * do, but not for so long that client-go's elector may have taken the first grant up: it looks at its start, before there
 * is a Lease, and not again for 2 s. In milliseconds.
 */
const ALL_STARTED_MS = 2000;
const BEFORE_FIRST_LOOK_MS = 1600;
const BETWEEN_REVISIONS_MS = 300;

/** How long before a grant is given up the other candidates are pinged, in milliseconds. client-go has taken its grant up by then. */
const ASK_AHEAD_MS = 500;

/**
 * Revises a grant that its holder has not taken up yet (rule 12). No one leads by it, so that a better candidate gets the Lease at
 * once, by a write that fails if the holder's first renewal comes first. No leader has to yield, so that age and name count too.
 * Once a running holder would have taken the grant up, every other candidate counts as better.
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

/**
 * A grant that is not taken up in time goes to another candidate: pings the candidates that could lead ahead of that moment.
 * At that moment it pings the holder too: a holder that does not answer loses the Lease even without a successor.
 */
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

/** When a holder that runs has taken its grant up: by the server's answer to it or, of another replica's, by when it was seen. */
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
