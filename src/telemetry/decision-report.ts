import type { DecisionObserver } from '../controller/reconcile.ts';
import { isConflict, LockLostError } from '../controller/reconcile.ts';
import { isUnanswered, type Ping } from '../election/candidate-observation.ts';
import type { Action, Decision, Reason } from '../election/decision.ts';
import { changesCluster, grantOf, preferredBy } from '../election/decision-result.ts';
import { explainCandidates } from '../election/explain.ts';
import type { ElectionInput } from '../election/survey.ts';
import type { Instant } from '../election/time.ts';
import type { ElectionMetrics } from './election-metrics.ts';
import type { Logger } from './logger.ts';

/**
 * What a Lease's users must know of, though nothing was written: said when it begins, not each time it is found again. A
 * warning where somebody has to do something about it.
 */
const TROUBLES: ReadonlyMap<Reason, 'info' | 'warn'> = new Map([
  ['StrategyConflict', 'warn'],
  ['WritesIgnored', 'warn'],
  ['NoLiveCandidates', 'warn'],
  ['NoElectableCandidates', 'warn'],
  ['PreemptionBackoff', 'warn'],
  ['AwaitingFormerHolder', 'info'],
  ['ThirdPartyStrategy', 'info'],
]);

/** Whether a decision for this reason leaves a Lease in a state that somebody has to do something about. */
export function isTrouble(reason: Reason): boolean {
  return TROUBLES.get(reason) === 'warn';
}

/** Steps on the way, another attempt at what was in vain so far among them; they neither begin nor end a trouble. */
const TRANSIENT: ReadonlySet<Reason> = new Set([
  'AwaitingAcks',
  'HolderLate',
  'BetterCandidate',
  'StrategyChanged',
  'PreemptionPending',
]);

interface ReportParts {
  readonly logger: Logger;
  readonly metrics: ElectionMetrics;
  readonly now: () => Instant;
  /** Nothing is written: every decision that would change something is logged as such. */
  readonly isDryRun: boolean;
}

/** Turns decisions into log lines and metrics: one line per decision that changed something, one per trouble that began. */
export class DecisionReport implements DecisionObserver {
  readonly #parts: ReportParts;
  /** The trouble, or in a dry run the decision, that was last told of each Lease. */
  readonly #told = new Map<string, string>();
  readonly #countedPings = new WeakSet<Ping>();

  constructor(parts: ReportParts) {
    this.#parts = parts;
  }

  decided(key: string, decision: Decision, input: ElectionInput): void {
    const { logger, metrics, isDryRun } = this.#parts;
    metrics.decided(decision.reason);
    this.#countUnanswered(decision, input);
    logger.debug({ lease: key, reason: decision.reason, actions: decision.actions.length }, 'Decided');
    if (isDryRun)
      this.#tellOnce(key, describePlan(decision), () =>
        logger.info(describe(key, decision, input), 'Would act'),
      );
    else this.#tellTrouble(key, decision, input);
  }

  written(key: string, action: Action, error: unknown): void {
    const { logger, metrics } = this.#parts;
    const result = error === undefined ? 'ok' : isConflict(error) ? 'conflict' : 'error';
    metrics.wrote(action.kind, result);
    if (result === 'ok') this.#countWrite(action);
    else if (result === 'conflict')
      logger.debug({ lease: key, action: action.kind, err: error }, 'Write refused');
    else if (!(error instanceof LockLostError)) {
      logger.error({ lease: key, action: action.kind, err: error }, 'Write failed');
    }
  }

  applied(key: string, decision: Decision, input: ElectionInput): void {
    const { logger, metrics, now } = this.#parts;
    if (!changesCluster(decision)) return;
    const grant = grantOf(decision);
    const { record } = input.memory;
    if (grant && decision.reason === 'LeaseExpired' && record) {
      metrics.filledAfterExpiry(now() - (record.since + record.beliefMs));
    }
    if (grant && grant.holder !== (input.lease?.holderIdentity ?? '')) metrics.leaderChanged();
    if (grant) this.#told.delete(key);
    logger.info(describe(key, decision, input), 'Changed a Lease');
  }

  forgotten(key: string): void {
    this.#told.delete(key);
  }

  #tellTrouble(key: string, decision: Decision, input: ElectionInput): void {
    const { logger, metrics } = this.#parts;
    const { reason } = decision;
    if (TRANSIENT.has(reason)) return;
    const level = TROUBLES.get(reason);
    if (level === undefined) {
      this.#told.delete(key);
      return;
    }
    this.#tellOnce(key, `${reason} ${decision.conflict ?? ''}`, () => {
      if (reason === 'StrategyConflict') metrics.strategyConflicted();
      logger[level](describe(key, decision, input), 'Left a Lease as it is');
    });
  }

  #tellOnce(key: string, what: string, tell: () => void): void {
    if (this.#told.get(key) === what) return;
    this.#told.set(key, what);
    tell();
  }

  #countUnanswered({ standings }: Decision, { settings }: ElectionInput): void {
    const { metrics, now } = this.#parts;
    for (const { observation } of standings) {
      const { ping } = observation;
      if (!ping || !isUnanswered(observation, now(), settings) || this.#countedPings.has(ping)) continue;
      this.#countedPings.add(ping);
      metrics.pingUnanswered();
    }
  }

  #countWrite(action: Action): void {
    const { metrics } = this.#parts;
    if (action.kind === 'PingCandidate') metrics.pinged();
    else if (action.kind === 'DeleteCandidate') metrics.candidateCollected();
    else if (action.kind === 'UpdateLease' && action.change.kind === 'prefer') metrics.preempted();
  }
}

function describePlan({ reason, actions }: Decision): string {
  return `${reason} ${actions.map((action) => (action.kind === 'PingCandidate' ? action.name : action.kind)).join()}`;
}

function describe(key: string, decision: Decision, input: ElectionInput) {
  const { outcome, actions } = decision;
  return {
    lease: key,
    reason: decision.reason,
    holder: grantOf(decision)?.holder ?? input.lease?.holderIdentity ?? '',
    formerHolder: grantOf(decision)?.former?.holder,
    preferredHolder: preferredBy(decision),
    strategy: 'strategy' in outcome ? outcome.strategy : undefined,
    conflictingStrategies: outcome.kind === 'conflict' ? outcome.strategies : undefined,
    actions: actions.map((action) =>
      'name' in action
        ? `${action.kind} ${action.name}`
        : action.kind === 'UpdateLease'
          ? `${action.kind} ${action.change.kind}`
          : action.kind,
    ),
    candidates: explainCandidates(decision),
  };
}
