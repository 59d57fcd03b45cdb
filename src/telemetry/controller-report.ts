import type { ControllerEvent, EventOf, ObserveController } from '../controller/controller-event.ts';
import type { LockEvent } from '../controller/lock/lock-settings.ts';
import { GROUP } from '../election/model.ts';
import { kindOfFailure } from '../kubernetes/errors.ts';
import { createThrottle } from '../support/backoff.ts';
import { createDecisionReport, type ReportParts } from './decision-report.ts';

export const NOT_SERVED_ADVICE =
  'The API server does not serve LeaseCandidates. Define those of our own group with kubectl apply -f deploy/crd.yaml, or start ' +
  'every kube-apiserver with --feature-gates=CoordinatedLeaderElection=true and --runtime-config=coordination.k8s.io/v1beta1=true (Kubernetes 1.33 ' +
  'and later), coordination.k8s.io/v1alpha2=true (1.32) or coordination.k8s.io/v1alpha1=true (1.31). Looking again every 10 s.';

const TWINS =
  `Two LeaseCandidates have the same name, one in coordination.k8s.io and one in ${GROUP}: the candidate with the last observed renewal counts. ` +
  'Delete the other one, and see that the program publishes only one';

export const UNREADABLE_PRIORITY =
  'A priority cannot be read, and does not count. Set the annotation priority to a whole number of 32 bits, such as 100, and ' +
  'priority-until, if there is to be an end, to a time such as 2026-01-01T12:00:00Z';

type Reporters = { readonly [Type in ControllerEvent['type']]: (event: EventOf<Type>) => void };

/** Returns an observer that turns the events of a controller into logs, metrics and Kubernetes Events. */
export function createControllerReport(parts: ReportParts): ObserveController {
  const { logger, metrics, now } = parts;
  const decisions = createDecisionReport(parts);
  const isNew = createThrottle(now);

  function reportLock(event: LockEvent): void {
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
          'This replica releases the coordinator lock, because it cannot elect: an earlier line says why. Another replica may be able to elect',
        );
        break;
    }
  }

  const reporters: Reporters = {
    seen() {},
    processed: metrics.scheduler.processed,
    sending: metrics.scheduler.sending,
    decided: decisions.decided,
    heldBack: () => metrics.elections.heldBack.inc(),
    written: decisions.written,
    forgotten: ({ key }) => decisions.forgotten(key),
    decisionFailed({ key, error }) {
      metrics.scheduler.decisionFailed();
      metrics.elections.reconcileFailures.inc();
      logger.error({ lease: key, err: error }, 'Reconciling a Lease failed');
    },
    synced: ({ apiVersion }) => logger.info({ apiVersion }, 'Watching LeaseCandidates'),
    gone: ({ apiVersion }) => logger.warn({ apiVersion }, 'LeaseCandidates are no longer served'),
    notServed: () => logger.error(NOT_SERVED_ADVICE),
    discoveryFailed({ error }) {
      metrics.api.reflectorFailed({ path: 'leasecandidates', during: 'discovery' });
      if (isNew('discovery', error))
        logger.error({ err: error }, 'Could not ask the API server what it serves');
    },
    watchFailed({ error, context }) {
      metrics.api.reflectorFailed(context);
      if (isNew(`${context.during} ${context.path}`, error))
        logger.warn({ err: error, ...context }, 'Watching failed');
    },
    reflected: ({ resource, observation }) => metrics.api.reflected(resource, observation),
    twinSeen: ({ key, name }) => logger.warn({ lease: key, candidate: name }, TWINS),
    priorityUnreadable: ({ key, name, annotation }) =>
      logger.warn({ lease: key, candidate: name, annotation }, UNREADABLE_PRIORITY),
    lockChanged({ state }) {
      const { kind, holder, activeAt } = state;
      metrics.lock.changed(state);
      // Drop the measurements of elections in progress: the next coordinator completes these elections.
      if (kind !== 'active') decisions.lockLost();
      const startsInMs = activeAt === undefined ? undefined : Math.max(0, Math.round(activeAt - now()));
      logger.info({ state: kind, holder, startsInMs }, 'The coordinator lock changed');
    },
    lockEvent: ({ event }) => reportLock(event),
    lockWatchFailed({ error, context }) {
      // Only warn, because this replica also reads or renews the lock every 2 s. Without the watch, the replica notices
      // changes of the lock later.
      metrics.lock.callFailed('watch');
      if (isNew('lock watch', error))
        logger.warn({ err: error, retryInMs: context.retryInMs }, 'Watching the coordinator lock failed');
    },
    lockRefused: ({ reason }) => logger.error(`Nothing is elected: ${reason}`),
    labelWritten({ key, write, error }) {
      metrics.labelCalled(write.kind, error === undefined);
      const fields = { lease: key, pod: write.pod.name, action: write.kind };
      if (error === undefined) logger.info(fields, 'Wrote a leader label');
      else if (isNew(`label ${write.kind}`, kindOfFailure(error)))
        logger.warn({ ...fields, err: error }, 'Writing a leader label failed');
    },
    labelsListed({ error }) {
      metrics.labelCalled('list', error === undefined);
      if (error !== undefined && isNew('label list', kindOfFailure(error)))
        logger.warn(
          { err: error },
          'Listing Pods for leader labels failed: no label is written until it succeeds',
        );
    },
    unlabelable: ({ key }) =>
      logger.warn(
        { lease: key },
        'The name of the Lease is longer than the 63 characters of a label: its leader gets no label',
      ),
  };
  return (event) => (reporters[event.type] as ObserveController)(event);
}

/** Returns a function that logs failed writes of Events: consecutive failures of one kind at most once a minute. */
export function createEventFailureReport({ logger, now }: Pick<ReportParts, 'logger' | 'now'>) {
  const isNew = createThrottle(now);
  return (error: unknown): void => {
    if (isNew('event', kindOfFailure(error))) logger.warn({ err: error }, 'Writing an Event failed');
  };
}
