import type { ObserveController } from '../controller/controller-event.ts';
import type { LockEvent } from '../controller/lock/lock-settings.ts';
import { GROUP, type Instant } from '../election/model.ts';
import { kindOfFailure } from '../kubernetes/errors.ts';
import { createThrottle } from '../support/backoff.ts';
import { DecisionReport } from './decision-report.ts';
import type { LeaseEvent } from './lease-event.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';

/** Advice for a cluster whose API server does not serve LeaseCandidates. */
export const NOT_SERVED_ADVICE =
  'The API server does not serve LeaseCandidates. Define those of our own group with kubectl apply -f deploy/crd.yaml, or start ' +
  'every kube-apiserver with --feature-gates=CoordinatedLeaderElection=true and --runtime-config=coordination.k8s.io/v1beta1=true (Kubernetes 1.33 ' +
  'and later), coordination.k8s.io/v1alpha2=true (1.32) or coordination.k8s.io/v1alpha1=true (1.31). Looking again every 10 s.';

const TWINS =
  `Two LeaseCandidates have the same name, one in coordination.k8s.io and one in ${GROUP}: the candidate with the last observed renewal counts. ` +
  'Delete the other one, and see that the program publishes only one';

/** Log message for an invalid priority annotation. */
export const UNREADABLE_PRIORITY =
  'A priority cannot be read, and does not count. Set the annotation priority to a whole number of 32 bits, such as 100, and ' +
  'priority-until, if there is to be an end, to a time such as 2026-01-01T12:00:00Z';

interface ReportParts {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => Instant;
  readonly isDryRun: boolean;
  /** Undefined if Events are off. */
  readonly recordEvent?: ((event: LeaseEvent) => void) | undefined;
}

/** Returns an observer that turns the events of a controller into logs, metrics and Kubernetes Events. */
export function createControllerReport(parts: ReportParts): ObserveController {
  const { logger, metrics, now, isDryRun, recordEvent = () => {} } = parts;
  const decisions = new DecisionReport({ logger, metrics: metrics.elections, now, isDryRun, recordEvent });
  const isNew = createThrottle(now);
  return (event) => {
    switch (event.type) {
      case 'seen':
        break;
      case 'processed':
      case 'sending':
        metrics.scheduler.observe(event);
        break;
      case 'decided':
      case 'heldBack':
      case 'written':
      case 'forgotten':
        decisions.observe(event);
        break;
      case 'decisionFailed':
        metrics.scheduler.observe(event);
        metrics.elections.reconcileFailures.inc();
        logger.error({ lease: event.key, err: event.error }, 'Reconciling a Lease failed');
        break;
      case 'synced':
        logger.info({ apiVersion: event.apiVersion }, 'Watching LeaseCandidates');
        break;
      case 'gone':
        logger.warn({ apiVersion: event.apiVersion }, 'LeaseCandidates are served no more');
        break;
      case 'notServed':
        logger.error(NOT_SERVED_ADVICE);
        break;
      case 'discoveryFailed':
        metrics.api.reflectorFailed({ path: 'leasecandidates', during: 'discovery' });
        if (isNew('discovery', event.error))
          logger.error({ err: event.error }, 'Could not ask the API server what it serves');
        break;
      case 'watchFailed': {
        const { error, context } = event;
        metrics.api.reflectorFailed(context);
        if (isNew(`${context.during} ${context.path}`, error))
          logger.warn({ err: error, ...context }, 'Watching failed');
        break;
      }
      case 'reflected':
        metrics.api.reflected(event.resource, event.observation);
        break;
      case 'twinSeen':
        logger.warn({ lease: event.key, candidate: event.name }, TWINS);
        break;
      case 'priorityUnreadable': {
        const { key, name, annotation } = event;
        logger.warn({ lease: key, candidate: name, annotation }, UNREADABLE_PRIORITY);
        break;
      }
      case 'lockChanged': {
        const { kind, holder, activeAt } = event.state;
        metrics.lock.changed(event.state);
        // The next coordinator completes the elections in progress.
        if (kind !== 'active') decisions.lockLost();
        const startsInMs = activeAt === undefined ? undefined : Math.max(0, Math.round(activeAt - now()));
        logger.info({ state: kind, holder, startsInMs }, 'The coordinator lock changed');
        break;
      }
      case 'lockEvent':
        reportLock(event.event, logger, metrics, isNew);
        break;
      case 'lockWatchFailed':
        // A lost watch causes only a delay, because the lock is also read every 2 s.
        metrics.lock.callFailed('watch');
        if (isNew('lock watch', event.error))
          logger.warn(
            { err: event.error, retryInMs: event.context.retryInMs },
            'Watching the coordinator lock failed',
          );
        break;
      case 'lockRefused':
        logger.error(`Nothing is elected: ${event.reason}`);
        break;
      case 'labelWritten': {
        const { key, write, error } = event;
        metrics.labelCalled(write.kind, error === undefined);
        const fields = { lease: key, pod: write.pod.name, action: write.kind };
        if (error === undefined) logger.info(fields, 'Wrote a leader label');
        else if (isNew(`label ${write.kind}`, kindOfFailure(error)))
          logger.warn({ ...fields, err: error }, 'Writing a leader label failed');
        break;
      }
      case 'labelsListed': {
        const { error } = event;
        metrics.labelCalled('list', error === undefined);
        if (error !== undefined && isNew('label list', kindOfFailure(error)))
          logger.warn({ err: error }, 'Listing Pods for leader labels failed: none is written before that');
        break;
      }
      case 'unlabelable':
        logger.warn(
          { lease: event.key },
          'The name of the Lease is longer than the 63 characters of a label: its leader gets no label',
        );
        break;
    }
  };
}

function reportLock(
  event: LockEvent,
  logger: Logger,
  metrics: Metrics,
  isNew: ReturnType<typeof createThrottle>,
): void {
  switch (event.kind) {
    case 'callFailed':
      metrics.lock.callFailed(event.call);
      if (isNew(`lock ${event.call}`, event.error))
        logger.warn({ call: event.call, err: event.error }, 'A call about the coordinator lock failed');
      break;
    case 'claimedByForce':
      logger.warn({ from: event.from }, 'Took the coordinator lock over');
      break;
    case 'ousted':
      logger.warn({ by: event.by, retryInMs: event.forceAgainInMs }, 'Lost the coordinator lock');
      break;
    case 'letGo':
      logger.warn(
        'Letting go of the coordinator lock, as this replica cannot elect, which a line above says why: another may be able to',
      );
      break;
  }
}

/** Logs failed Events, once per kind of error, not once per Event. */
export function createEventFailureReport({ logger, now }: { logger: Logger; now: () => Instant }) {
  const isNew = createThrottle(now);
  return (error: unknown): void => {
    if (isNew('event', kindOfFailure(error))) logger.warn({ err: error }, 'Writing an Event failed');
  };
}
