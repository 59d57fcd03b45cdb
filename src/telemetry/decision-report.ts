import { type EventOf, isApplied, type WriteEvent } from '../controller/controller-event.ts';
import { LockLostError } from '../controller/sender.ts';
import { isUnanswered, type Ping } from '../election/candidate-observation.ts';
import {
  type Action,
  changesCluster,
  type Decision,
  grantOf,
  isLeaseWrite,
  preferredBy,
  type Reason,
} from '../election/decision.ts';
import { MISSING_PROOFS } from '../election/holder-end.ts';
import type { Instant } from '../election/model.ts';
import { type ElectionInput, holderEndIn } from '../election/view.ts';
import { isConflict, kindOfFailure } from '../kubernetes/errors.ts';
import { createRepeatCounter } from '../support/backoff.ts';
import {
  createElectionTimer,
  electionResults,
  isSkewPrevention,
  resultOf,
  TroubleWatch,
} from './election-result.ts';
import {
  changeEvents,
  type LeaseEvent,
  MAX_NAMED,
  nameCandidates,
  resolutionEvent,
  troubleEvent,
} from './lease-event.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

const UNDECIDED: readonly Reason[] = electionResults.undecided;

export interface ReportParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => Instant;
  /** True in a dry run (no writes). The report then logs a decision if its reason, holders or actions have changed. */
  readonly isDryRun: boolean;
  /** Records a Kubernetes Event about a Lease. Must return at once and must not throw. Undefined if Events are off. */
  readonly recordEvent?: ((event: LeaseEvent) => void) | undefined;
}

/** Turns decisions and writes into log lines, metrics and Events. */
export function createDecisionReport(parts: ReportParts) {
  const { logger, now, isDryRun, recordEvent = () => {} } = parts;
  const metrics = parts.metrics.elections;
  const timer = createElectionTimer();
  const troubles = new TroubleWatch();
  /** For each Lease, the last decision that was logged in a dry run, as text. */
  const planned = new Map<string, string>();
  const countedPings = new WeakSet<Ping>();
  const repeatsOf = createRepeatCounter(now);

  function applied({ key, decision, input, lease }: WriteEvent): void {
    if (!changesCluster(decision)) return;
    const grant = grantOf(decision);
    const result = resultOf(decision);
    if (result) metrics.elections.inc({ result, reason: decision.reason });
    if (isSkewPrevention(decision)) metrics.skewPreventions.inc();
    const { needToDecisionMs, expiryToHolderMs } = timer.applied(key, decision, input, now()) ?? {};
    if (needToDecisionMs !== undefined) metrics.needToDecision.observe(needToDecisionMs / 1000);
    if (expiryToHolderMs !== undefined) metrics.expiryToHolder.observe(expiryToHolderMs / 1000);
    if (grant && grant.holder !== (input.lease?.holderIdentity ?? '')) metrics.leaderChanges.inc();
    if (grant) troubles.granted(key);
    const times = {
      needToDecisionMs: needToDecisionMs && Math.round(needToDecisionMs),
      expiryToHolderMs: expiryToHolderMs && Math.round(expiryToHolderMs),
    };
    logger.info({ ...describe(key, decision, input), ...times }, 'Changed a Lease');
    for (const event of changeEvents(decision, input, lease)) recordEvent(event);
  }

  /**
   * Logs a failed write. Failed pings are logged at most once a minute for each kind of error, and not for each
   * candidate: in an outage, all pings fail. The same applies to failed deletions.
   */
  function tellFailure(lease: string, action: Action, error: unknown): void {
    const candidate = 'name' in action ? action.name : undefined;
    const kind = kindOfFailure(error);
    const repeats = candidate === undefined ? 0 : repeatsOf(`${action.kind} ${kind}`, kind);
    if (repeats === undefined) return;
    const failedAlikeSince = repeats || undefined;
    logger.error({ lease, action: action.kind, err: error, failedAlikeSince, candidate }, 'Write failed');
  }

  function tellPlan(key: string, decision: Decision, input: ElectionInput): void {
    const line = describe(key, decision, input);
    const plan = [line.reason, line.holder, line.preferredHolder, ...line.actions].join();
    if (planned.get(key) === plan) return;
    planned.set(key, plan);
    logger.info(line, 'Would act');
  }

  function tellTrouble(key: string, decision: Decision, input: ElectionInput): void {
    const { reason } = decision;
    const { resolvedTo, began } = troubles.decided(key, decision);
    if (resolvedTo !== undefined) recordEvent(resolutionEvent(resolvedTo, input));
    if (began === undefined) return;
    if (reason === 'StrategyConflict') metrics.conflicts.inc();
    if (UNDECIDED.includes(reason)) metrics.elections.inc({ result: 'undecided', reason });
    logger[began](describe(key, decision, input), 'Left a Lease as it is');
    // If the decision ends an election, applied() records its Event after the write has succeeded.
    // A Lease with an invalid name cannot exist, so no Event can refer to this Lease.
    if (!resultOf(decision) && reason !== 'InvalidLeaseName')
      recordEvent(troubleEvent(decision, input, began));
  }

  function countUnanswered({ standings }: Decision, { settings }: ElectionInput): void {
    const at = now();
    for (const { observation } of standings) {
      const { ping } = observation;
      if (!ping || !isUnanswered(observation, at, settings) || countedPings.has(ping)) continue;
      countedPings.add(ping);
      metrics.unanswered.inc();
    }
  }

  function countWrite(action: Action, { reason }: Decision): void {
    if (action.kind === 'PingCandidate') metrics.pings.inc();
    if (action.kind === 'DeleteCandidate') metrics.collected.inc();
    if (action.kind !== 'UpdateLease') return;
    const { change } = action;
    if (change.kind === 'prefer') metrics.preemptions.inc();
    if (change.kind === 'clearPreferredHolder' && change.hasFailed) metrics.failedPreemptions.inc({ reason });
  }

  return {
    decided({ key, decision, input }: EventOf<'decided'>): void {
      metrics.decisions.inc({ reason: decision.reason });
      timer.decided(key, decision, input, now());
      countUnanswered(decision, input);
      logger.debug({ lease: key, reason: decision.reason, actions: decision.actions.length }, 'Decided');
      if (isDryRun) tellPlan(key, decision, input);
      else tellTrouble(key, decision, input);
    },
    written(event: WriteEvent): void {
      const { key, action, error, decision } = event;
      const result = error === undefined ? 'ok' : isConflict(error) ? 'conflict' : 'error';
      metrics.writes.inc({ action: action.kind, result });
      if (result === 'ok') countWrite(action, decision);
      else if (result === 'conflict')
        logger.debug({ lease: key, action: action.kind, err: error }, 'Write refused');
      else if (!(error instanceof LockLostError)) {
        if (isLeaseWrite(action) && resultOf(decision))
          metrics.elections.inc({ result: 'failed', reason: decision.reason });
        tellFailure(key, action, error);
      }
      if (isApplied(event)) applied(event);
    },
    forgotten(key: string): void {
      troubles.forgotten(key);
      planned.delete(key);
      timer.forgotten(key);
    },
    /** Drops the measurements of elections in progress. Call this when this replica is no longer active. */
    lockLost: timer.lockLost,
  };
}

function describe(key: string, decision: Decision, input: ElectionInput) {
  const { outcome, actions } = decision;
  const { named, more } = nameCandidates(decision);
  const strategies = outcome.kind === 'conflict' ? outcome.strategies : undefined;
  return {
    lease: key,
    reason: decision.reason,
    holder: grantOf(decision)?.holder ?? input.lease?.holderIdentity ?? '',
    formerHolder: grantOf(decision)?.former,
    preferredHolder: preferredBy(decision),
    strategy: 'strategy' in outcome ? outcome.strategy : undefined,
    conflictingStrategies: strategies?.slice(0, MAX_NAMED),
    moreConflictingStrategies: beyond(strategies),
    actions: actions.slice(0, MAX_NAMED).map(describeAction),
    moreActions: beyond(actions),
    candidates: named,
    moreCandidates: more || undefined,
    crashEvidence: describeEnd(decision, input),
  };
}

/** Formats an action, for example `PingCandidate a`, `UpdateLease grant` or `CreateLease`. */
function describeAction(action: Action): string {
  if ('name' in action) return `${action.kind} ${action.name}`;
  return action.kind === 'UpdateLease' ? `${action.kind} ${action.change.kind}` : action.kind;
}

/**
 * For `HolderEnded` and `LeaseExpired`, describes the proof that the holder has ended, or why there is no proof (rule
 * 17). Returns undefined for other reasons, or if this process did not look for a proof.
 */
function describeEnd({ reason }: Decision, input: ElectionInput): string | undefined {
  if (reason !== 'LeaseExpired' && reason !== 'HolderEnded') return undefined;
  const end = holderEndIn(input);
  if (end?.kind === 'unproven') return `${end.missing}: ${MISSING_PROOFS[end.missing]}`;
  return end && `${end.instance.id} ended: ${end.instance.reason}`;
}

/** Returns the number of items that the log line omits; undefined if the log line names all items. */
function beyond(all: readonly unknown[] | undefined): number | undefined {
  return all && all.length > MAX_NAMED ? all.length - MAX_NAMED : undefined;
}
