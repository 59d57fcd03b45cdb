import { type DecisionEvent, isApplied, type WriteEvent } from '../controller/controller-event.ts';
import { LockLostError } from '../controller/sender.ts';
import { isUnanswered, type Ping } from '../election/candidate-observation.ts';
import {
  type Action,
  changesCluster,
  type Decision,
  grantOf,
  isLeaseWrite,
  preferredBy,
} from '../election/decision.ts';
import { MISSING_PROOFS } from '../election/holder-end.ts';
import type { Instant } from '../election/model.ts';
import { type ElectionInput, holderEndIn } from '../election/view.ts';
import { isConflict, kindOfFailure } from '../kubernetes/errors.ts';
import { createRepeatCounter } from '../support/backoff.ts';
import type { ElectionMetrics } from './election-metrics.ts';
import {
  createElectionTimer,
  describeAction,
  type ElectionTimes,
  isSkewPrevention,
  isUndecided,
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

interface ReportParts {
  readonly logger: Logger;
  readonly metrics: ElectionMetrics;
  readonly now: () => Instant;
  /** True in a dry run, which writes nothing: each decision that would change something is logged. */
  readonly isDryRun: boolean;
  /** Records an Event about a Lease. Must not throw and must not wait. */
  readonly recordEvent: (event: LeaseEvent) => void;
}

/**
 * Turns decisions into log lines, metrics and Events: one log line per decision that changed something, and one per
 * problem when it begins.
 */
export class DecisionReport {
  readonly #parts: ReportParts;
  readonly #timer = createElectionTimer();
  readonly #troubles = new TroubleWatch();
  /** In a dry run: the last logged decision of each Lease. */
  readonly #planned = new Map<string, string>();
  readonly #countedPings = new WeakSet<Ping>();
  readonly #repeatsOf: ReturnType<typeof createRepeatCounter>;

  constructor(parts: ReportParts) {
    this.#parts = parts;
    this.#repeatsOf = createRepeatCounter(parts.now);
  }

  observe(event: DecisionEvent): void {
    switch (event.type) {
      case 'decided':
        this.#decided(event.key, event.decision, event.input);
        break;
      case 'heldBack':
        this.#parts.metrics.heldBack.inc();
        break;
      case 'written':
        this.#written(event);
        if (isApplied(event)) this.#applied(event);
        break;
      case 'forgotten':
        this.#forgotten(event.key);
        break;
    }
  }

  /** Call this when the process has lost the lock or stops. */
  lockLost(): void {
    this.#timer.lockLost();
  }

  #decided(key: string, decision: Decision, input: ElectionInput): void {
    const { logger, metrics, isDryRun, now } = this.#parts;
    metrics.decisions.inc({ reason: decision.reason });
    this.#timer.decided(key, decision, input, now());
    this.#countUnanswered(decision, input);
    logger.debug({ lease: key, reason: decision.reason, actions: decision.actions.length }, 'Decided');
    if (isDryRun) this.#tellPlan(key, decision, input);
    else this.#tellTrouble(key, decision, input);
  }

  #written({ key, action, error, decision }: WriteEvent): void {
    const { logger, metrics } = this.#parts;
    const result = error === undefined ? 'ok' : isConflict(error) ? 'conflict' : 'error';
    metrics.writes.inc({ action: action.kind, result });
    if (result === 'ok') this.#countWrite(action, decision);
    else if (result === 'conflict')
      logger.debug({ lease: key, action: action.kind, err: error }, 'Write refused');
    else if (!(error instanceof LockLostError)) {
      if (isLeaseWrite(action) && resultOf(decision))
        metrics.elections.inc({ result: 'failed', reason: decision.reason });
      this.#tellFailure(key, action, error);
    }
  }

  #applied({ key, decision, input, lease }: WriteEvent): void {
    const { logger, metrics, now, recordEvent } = this.#parts;
    if (!changesCluster(decision)) return;
    const grant = grantOf(decision);
    const result = resultOf(decision);
    if (result) metrics.elections.inc({ result, reason: decision.reason });
    if (isSkewPrevention(decision)) metrics.skewPreventions.inc();
    const times = this.#timer.applied(key, decision, input, now());
    if (times) metrics.needToDecision.observe(times.needToDecisionMs / 1000);
    if (times?.expiryToHolderMs !== undefined) metrics.expiryToHolder.observe(times.expiryToHolderMs / 1000);
    if (grant && grant.holder !== (input.lease?.holderIdentity ?? '')) metrics.leaderChanges.inc();
    if (grant) this.#troubles.granted(key);
    logger.info({ ...describe(key, decision, input), ...rounded(times) }, 'Changed a Lease');
    for (const event of changeEvents(decision, input, lease)) recordEvent(event);
  }

  #forgotten(key: string): void {
    this.#troubles.forgotten(key);
    this.#planned.delete(key);
    this.#timer.forgotten(key);
  }

  /** Logs failed pings and deletions once per kind of error, not once per candidate: in an outage all of them fail. */
  #tellFailure(lease: string, action: Action, error: unknown): void {
    const { logger } = this.#parts;
    const told = { lease, action: action.kind, err: error };
    if (!('name' in action)) {
      logger.error(told, 'Write failed');
      return;
    }
    const kind = kindOfFailure(error);
    const repeats = this.#repeatsOf(`${action.kind} ${kind}`, kind);
    if (repeats !== undefined) {
      const since = repeats > 0 ? { failedAlikeSince: repeats } : {};
      logger.error({ ...told, ...since, candidate: action.name }, 'Write failed');
    }
  }

  #tellPlan(key: string, decision: Decision, input: ElectionInput): void {
    const plan = describePlan(decision);
    if (this.#planned.get(key) === plan) return;
    this.#planned.set(key, plan);
    this.#parts.logger.info(describe(key, decision, input), 'Would act');
  }

  #tellTrouble(key: string, decision: Decision, input: ElectionInput): void {
    const { logger, metrics, recordEvent } = this.#parts;
    const { reason } = decision;
    const { resolvedTo, began } = this.#troubles.decided(key, decision);
    if (resolvedTo !== undefined) recordEvent(resolutionEvent(resolvedTo, input));
    if (began === undefined) return;
    if (reason === 'StrategyConflict') metrics.conflicts.inc();
    if (isUndecided(reason)) metrics.elections.inc({ result: 'undecided', reason });
    logger[began](describe(key, decision, input), 'Left a Lease as it is');
    // A write is reported after it has succeeded. A Lease with an invalid name cannot exist, so it has no Event.
    if (!resultOf(decision) && reason !== 'InvalidLeaseName')
      recordEvent(troubleEvent(decision, input, began));
  }

  #countUnanswered({ standings }: Decision, { settings }: ElectionInput): void {
    const { metrics, now } = this.#parts;
    const at = now();
    for (const { observation } of standings) {
      const { ping } = observation;
      if (!ping || !isUnanswered(observation, at, settings) || this.#countedPings.has(ping)) continue;
      this.#countedPings.add(ping);
      metrics.unanswered.inc();
    }
  }

  #countWrite(action: Action, { reason }: Decision): void {
    const { metrics } = this.#parts;
    if (action.kind === 'PingCandidate') metrics.pings.inc();
    else if (action.kind === 'DeleteCandidate') metrics.collected.inc();
    else if (action.kind === 'UpdateLease' && action.change.kind === 'prefer') metrics.preemptions.inc();
    else if (
      action.kind === 'UpdateLease' &&
      action.change.kind === 'clearPreferredHolder' &&
      action.change.hasFailed
    ) {
      metrics.failedPreemptions.inc({ reason });
    }
  }
}

function describePlan({ reason, actions }: Decision): string {
  return `${reason} ${actions.map((action) => (action.kind === 'PingCandidate' ? action.name : action.kind)).join()}`;
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

/** Says why a Lease was granted before its expiry, or why it had to expire; undefined if Pods are not watched (rule 17). */
function describeEnd({ reason }: Decision, input: ElectionInput): string | undefined {
  if (reason !== 'LeaseExpired' && reason !== 'HolderEnded') return undefined;
  const end = holderEndIn(input);
  if (end?.kind === 'unproven') return `${end.missing}: ${MISSING_PROOFS[end.missing]}`;
  return end && `${end.instance.id} ended: ${end.instance.reason}`;
}

/** Returns the durations of an election for the log, in whole milliseconds. */
function rounded({ needToDecisionMs, expiryToHolderMs }: Partial<ElectionTimes> = {}) {
  return {
    needToDecisionMs: needToDecisionMs && Math.round(needToDecisionMs),
    expiryToHolderMs: expiryToHolderMs && Math.round(expiryToHolderMs),
  };
}

/** Returns the number of items that the log line does not name; undefined if it names all of them. */
function beyond(all: readonly unknown[] | undefined): number | undefined {
  return all && all.length > MAX_NAMED ? all.length - MAX_NAMED : undefined;
}
