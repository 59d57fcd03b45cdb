import { ownersOf } from '../coordination/field-owner.ts';
import { decideElection } from '../election/decide.ts';
import { type Decision, REASONS, type Reason } from '../election/decision.ts';
import type { LeaseCandidate, Now } from '../election/model.ts';
import { resolveStrategy } from '../election/outcome.ts';
import { surveyElection } from '../election/view.ts';
import type { ObservedElection } from './elections.ts';
import type { LockHolder } from './evidence.ts';
import { UNREADABLE_ADVICE } from './findings.ts';
import {
  assumeAnswers,
  describeStatus,
  type LeaseStatus,
  type RankedCandidate,
  rank,
  verdictOn,
} from './lease-status.ts';
import { type Rehearsal, rehearse } from './rehearsal.ts';
import { describeLoss, listed, reasonTexts, stateTexts } from './wording.ts';

/** An obstacle to an election, with advice. */
export interface Blocker {
  readonly what: string;
  readonly advice: string;
}

/** The strategy of a Lease and its origin. */
export interface StrategyAccount {
  /** The strategy that the candidates agree on; undefined if they conflict or name none. */
  readonly resolved: string | undefined;
  /** Candidates that ask for the resolved strategy (rule 4). */
  readonly askedBy: readonly string[];
  /** Candidates that ask for other strategies. */
  readonly others: readonly { readonly name: string; readonly asksFor: readonly string[] }[];
  /** The strategy in the Lease; empty for none. */
  readonly onLease: string;
  /** The field managers of the strategy field. */
  readonly writtenBy: readonly string[];
}

/** The explanation of a Lease, as `explain` shows it. */
export interface LeaseAccount {
  readonly status: LeaseStatus;
  /** The summary, one sentence. */
  readonly verdict: string;
  /** Time until the Lease expires, in seconds; undefined if it has expired or has no holder. */
  readonly expiresInSeconds: number | undefined;
  readonly reason: Reason;
  readonly candidates: readonly RankedCandidate[];
  readonly strategy: StrategyAccount;
  readonly coordinator: LockHolder;
  readonly blockers: readonly Blocker[];
  /** Undefined if there is no leader. */
  readonly ifLeaderDied: Rehearsal | undefined;
}

/** Explains a Lease, by the controller's own decision. */
export function accountFor(election: ObservedElection, coordinator: LockHolder, now: Now): LeaseAccount {
  const { input, rawLease } = election;
  const decision = decideElection(input, now);
  const view = surveyElection(input, now);
  const { tenure } = view;
  const supposed = assumeAnswers(view, decision);
  const candidates = rank(supposed, decision, input, now);
  const holder = tenure.kind === 'held' ? tenure.holder : undefined;
  return {
    status: describeStatus(election, decision, view, now),
    verdict: verdictOn(holder, supposed, decision),
    expiresInSeconds: tenure.kind === 'held' ? (tenure.expiresAt - now.monotonic) / 1000 : undefined,
    reason: decision.reason,
    candidates,
    strategy: strategyOf(supposed, input.lease?.strategy ?? '', ownersOf(rawLease, ['spec', 'strategy'])),
    coordinator,
    blockers: [...blockersOf(decision, candidates, coordinator), ...prioritiesInVain(decision)],
    ifLeaderDied: holder === undefined ? undefined : rehearse(input, now, [{ kind: 'crash', name: holder }]),
  };
}

function strategyOf(
  { outcome, standings }: Decision,
  onLease: string,
  writtenBy: readonly string[],
): StrategyAccount {
  const resolved = 'strategy' in outcome ? outcome.strategy : undefined;
  const parties = standings.flatMap(({ candidate, state }) => (state === 'Live' ? [candidate] : []));
  // Most candidates ask for the same strategy with the same version. One candidate of each kind represents all.
  const kinds = new Map(parties.map((candidate) => [kindOf(candidate), candidate]));
  const isNotOverruled = (candidate: LeaseCandidate) =>
    asksFor(candidate)[0] === resolved &&
    [...kinds.values()].every((other) => {
      const both = resolveStrategy([candidate, other]);
      return both.kind === 'resolved' && both.strategy === resolved;
    });
  const asking = new Set(
    [...kinds].flatMap(([kind, candidate]) => (isNotOverruled(candidate) ? [kind] : [])),
  );
  return {
    resolved,
    askedBy:
      resolved === undefined ? [] : parties.filter((one) => asking.has(kindOf(one))).map(({ name }) => name),
    others: parties
      .filter((candidate) => asksFor(candidate)[0] !== resolved)
      .map((candidate) => ({ name: candidate.name, asksFor: asksFor(candidate) })),
    onLease,
    writtenBy,
  };
}

/** Returns a key that is equal for candidates with equal influence on the strategy. */
function kindOf({ preference, binaryVersion }: LeaseCandidate): string {
  return JSON.stringify([preference, binaryVersion]);
}

function asksFor({ preference }: LeaseCandidate): readonly string[] {
  return preference.kind === 'strategy' ? [preference.strategy] : preference.strategies;
}

function blockersOf(
  { reason }: Decision,
  candidates: readonly RankedCandidate[],
  coordinator: LockHolder,
): readonly Blocker[] {
  const blockers: Blocker[] = [];
  const { advice } = reasonTexts[reason];
  if (advice !== undefined) blockers.push({ what: REASONS[reason], advice });
  if (coordinator.kind === 'nobody') {
    blockers.push({
      what: 'Nobody holds the lock of the coordinators: no election will be decided.',
      advice: 'Start the coordinator, or turn on the one built into kube-apiserver; doctor says more.',
    });
  }
  const silent = candidates.filter(({ state }) => state === 'Unresponsive' || state === 'Expired');
  if (silent.length > 0) {
    blockers.push({
      what: `${listed(silent.map(({ name }) => name))}: ${stateTexts[silent[0]?.state ?? 'Unresponsive']}.`,
      advice:
        'See whether the processes behind them run and reach the API server; delete those that are gone.',
    });
  }
  const unreadable = candidates.filter(({ lostBy }) => lostBy === 'NotElectable');
  if (unreadable.length > 0) {
    blockers.push({
      what: `${listed(unreadable.map(({ name }) => name))}: ${describeLoss('NotElectable')}.`,
      advice: 'Set binaryVersion and emulationVersion to semantic versions such as 1.36.0.',
    });
  }
  return blockers;
}

/** Finds priorities that have not moved a leader, although they should have. */
function prioritiesInVain({ standings }: Decision): readonly Blocker[] {
  return standings.flatMap(({ candidate: { name, priority } }) =>
    priority.unreadable === undefined
      ? []
      : [
          {
            what: `${name}: ${priority.unreadable} cannot be read, and does not count.`,
            advice: UNREADABLE_ADVICE,
          },
        ],
  );
}
