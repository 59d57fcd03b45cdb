import { pingEach } from './actions.ts';
import { ackDueAt } from './candidate-observation.ts';
import { grantTo } from './grant.ts';
import { decideOutcome, essentials } from './outcome.ts';
import { isHeldBack, standingsIn } from './standing.ts';
import type { Instant } from './time.ts';
import type { Verdict } from './verdict.ts';
import type { HeldView } from './view.ts';

/**
 * When a component starts, its candidates appear within a second or two, in any order. The first grant and its first
 * revision are made at once; the second revision waits until no more candidates are to be expected, so that three writes
 * do, but not for so long that client-go's elector may have taken the first grant up: it looks at its start, before there
 * is a Lease, and not again for 2 s. In milliseconds.
 */
const ALL_STARTED_MS = 2000;
const BEFORE_FIRST_LOOK_MS = 1600;
const BETWEEN_REVISIONS_MS = 300;

/**
 * A grant of ours that its holder has not taken up yet: nobody leads, so that a better candidate gets the Lease at once,
 * by a write that fails if the holder's first renewal comes before it (rule 12). Nobody has to yield, and age and name
 * count too.
 */
export function decideProvisional(view: HeldView): Verdict | undefined {
  if (!view.tenure.isProvisional) return undefined;
  // A holder that is held back got the Lease for want of anybody else.
  const live = standingsIn(view.standings, 'Live').filter(
    ({ candidate }) => !isHeldBack(view.input, candidate.name, view.at),
  );
  const outcome = decideOutcome(essentials(live.map(({ candidate }) => candidate)));
  if (outcome.kind !== 'leader' || outcome.leader.name === view.tenure.holder) return undefined;
  const revisableAt = nextRevisionAt(view);
  if (view.at < revisableAt) return { reason: 'RevisionPending', recheckAt: [revisableAt] };
  return { reason: 'GrantRevised', actions: grantTo(view, outcome.leader.name, outcome.strategy) };
}

/**
 * Whoever has not taken its grant up after electionDuration, longer than client-go's elector takes to look, has to show
 * that it is there: a holder that died before it led is replaced at once, and not when the grant has run out.
 */
export function pingGrantee(view: HeldView, verdict: Verdict): Verdict {
  const { record } = view.input.memory;
  if (!view.tenure.isProvisional || !record) return verdict;
  const askAt = record.since + view.input.settings.electionDurationMs;
  if (view.at < askAt) return { ...verdict, recheckAt: [...(verdict.recheckAt ?? []), askAt] };
  const grantee = view.standings.filter((standing) => standing.isHolder && !standing.isAlive);
  const [ping] = grantee.flatMap(({ observation }) => observation.ping ?? []);
  const isAsked = ping !== undefined && ping.sentAt >= askAt;
  return {
    ...verdict,
    actions: [...(verdict.actions ?? []), ...pingEach(view, isAsked ? [] : grantee, 'expiry')],
    recheckAt: [...(verdict.recheckAt ?? []), ping && ackDueAt(ping, view.input.settings)],
  };
}

function nextRevisionAt({ input: { memory } }: HeldView): Instant {
  const { grantSeries, decidedAt } = memory;
  if (grantSeries.count < 2) return Number.NEGATIVE_INFINITY;
  const soonAt = decidedAt + BETWEEN_REVISIONS_MS;
  if (grantSeries.count > 2) return soonAt;
  return Math.max(soonAt, Math.min(grantSeries.since + ALL_STARTED_MS, decidedAt + BEFORE_FIRST_LOOK_MS));
}
