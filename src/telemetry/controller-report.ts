import type { ControllerObserver } from '../controller/controller-parts.ts';
import type { LabelObserver } from '../controller/leader-label/leader-labels.ts';
import type { LockEvent, LockState } from '../controller/lock/lock-settings.ts';
import { GROUP, type Instant } from '../election/model.ts';
import { kindOfFailure } from '../kubernetes/errors.ts';
import type { ReflectorErrorContext } from '../kubernetes/reflector.ts';
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
  `Two LeaseCandidates have one name, one in coordination.k8s.io and one in ${GROUP}: the one that was last seen to renew or to answer counts. ` +
  'Delete the other one, and see that the program publishes only one';

/** Log message for a priority annotation that cannot be parsed. */
export const UNREADABLE_PRIORITY =
  'A priority cannot be read, and does not count. Set the annotation priority to a whole number of 32 bits, such as 100, and ' +
  'priority-until, if there is to be an end, to a time such as 2026-01-01T12:00:00Z';

/** The observer of a controller. */
interface ControllerReport extends ControllerObserver {
  /** This process has lost the lock or stops. Elections in flight are completed by the next leader. */
  standDown(): void;
}

/** Turns the events of a controller into logs, metrics and Kubernetes Events. */
export function createControllerReport(parts: {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => Instant;
  readonly isDryRun: boolean;
  /** Undefined if Events are off. */
  readonly recordEvent?: ((event: LeaseEvent) => void) | undefined;
}): ControllerReport {
  const { logger, metrics, now, isDryRun, recordEvent = () => {} } = parts;
  const decisions = new DecisionReport({ logger, metrics: metrics.elections, now, isDryRun, recordEvent });
  const isNew = createThrottle(now);
  return {
    decided: (...told) => decisions.decided(...told),
    heldBack: () => decisions.heldBack(),
    written: (...told) => decisions.written(...told),
    applied: (...told) => decisions.applied(...told),
    forgotten: (key) => decisions.forgotten(key),
    synced: (apiVersion) => logger.info({ apiVersion }, 'Watching LeaseCandidates'),
    gone: (apiVersion) => logger.warn({ apiVersion }, 'LeaseCandidates are served no more'),
    twinSeen: (lease, name) => logger.warn({ lease, candidate: name }, TWINS),
    priorityUnreadable: (lease, name, annotation) =>
      logger.warn({ lease, candidate: name, annotation }, UNREADABLE_PRIORITY),
    notServed: () => logger.error(NOT_SERVED_ADVICE),
    discoveryFailed: (error) => {
      metrics.api.reflectorFailed({ path: 'leasecandidates', during: 'discovery' });
      if (isNew('discovery', error))
        logger.error({ err: error }, 'Could not ask the API server what it serves');
    },
    reflectorFailed: (error, context: ReflectorErrorContext) => {
      metrics.api.reflectorFailed(context);
      if (isNew(`${context.during} ${context.path}`, error))
        logger.warn({ err: error, ...context }, 'Watching failed');
    },
    reflectorObserver: (resource) => metrics.api.reflectorObserver(resource),
    reconcileFailed: (key, error) => {
      metrics.elections.reconcileFailed();
      logger.error({ lease: key, err: error }, 'Reconciling a Lease failed');
    },
    standDown: () => decisions.standDown(),
  };
}

/** Logs and measures the coordinator's lock. */
export function createLockReport({
  logger,
  metrics,
  now,
  report,
}: {
  logger: Logger;
  metrics: Metrics;
  now: () => Instant;
  /** The report of the controller that writes while the lock is held. */
  report: Pick<ControllerReport, 'standDown'>;
}) {
  const isNew = createThrottle(now);
  return {
    changed(state: LockState): void {
      metrics.lock.changed(state);
      if (state.kind !== 'active') report.standDown();
      const { activeAt } = state;
      const startsInMs = activeAt === undefined ? undefined : Math.max(0, Math.round(activeAt - now()));
      logger.info({ state: state.kind, holder: state.holder, startsInMs }, 'The coordinator lock changed');
    },
    /** A lost watch only delays: the lock is also read every 2 s. */
    watchFailed(error: unknown, { retryInMs }: ReflectorErrorContext): void {
      metrics.lock.callFailed('watch');
      if (isNew('watch', error))
        logger.warn({ err: error, retryInMs }, 'Watching the coordinator lock failed');
    },
    refused(reason: string): void {
      logger.error(`Nothing is elected: ${reason}`);
    },
    happened(event: LockEvent): void {
      if (event.kind === 'callFailed') metrics.lock.callFailed(event.call);
      if (event.kind === 'claimedByForce')
        logger.warn({ from: event.from }, 'Took the coordinator lock over');
      else if (event.kind === 'ousted') {
        logger.warn({ by: event.by, retryInMs: event.forceAgainInMs }, 'Lost the coordinator lock');
      } else if (event.kind === 'letGo') {
        logger.warn(
          'Letting go of the coordinator lock, as this replica cannot elect, which a line above says why: another may be able to',
        );
      } else if (isNew(event.call, event.error)) {
        logger.warn({ call: event.call, err: event.error }, 'A call about the coordinator lock failed');
      }
    },
  };
}

/** Logs failed Events, once per error and not once per Event. */
export function createEventFailureReport({ logger, now }: { logger: Logger; now: () => Instant }) {
  const isNew = createThrottle(now);
  return (error: unknown): void => {
    if (isNew('event', kindOfFailure(error))) logger.warn({ err: error }, 'Writing an Event failed');
  };
}

/** Logs and measures leader labels. */
export function createLabelReport({
  logger,
  metrics,
  now,
}: {
  readonly logger: Logger;
  readonly metrics: Pick<Metrics, 'labels'>;
  readonly now: () => Instant;
}): LabelObserver {
  const isNew = createThrottle(now);
  return {
    labelWritten(lease, { kind, pod }, error) {
      metrics.labels.called(kind, error === undefined);
      const fields = { lease, pod: pod.name, action: kind };
      if (error === undefined) logger.info(fields, 'Wrote a leader label');
      else if (isNew(kind, kindOfFailure(error)))
        logger.warn({ ...fields, err: error }, 'Writing a leader label failed');
    },
    labelsListed(error) {
      metrics.labels.called('list', error === undefined);
      if (error !== undefined && isNew('list', kindOfFailure(error)))
        logger.warn({ err: error }, 'Listing Pods for leader labels failed: none is written before that');
    },
    unlabelable: (lease) =>
      logger.warn(
        { lease },
        'The name of the Lease is longer than the 63 characters of a label: its leader gets no label',
      ),
  };
}
