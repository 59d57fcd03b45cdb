import { hostname } from 'node:os';
import { assembleCoordinator, type Coordinator, QUIET_AFTER_MS } from '../controller/coordinator.ts';
import { checkLockNamespace } from '../controller/other-locks.ts';
import { createClient, type KubernetesClient } from '../kubernetes/client.ts';
import { loadKubeConfig } from '../kubernetes/kubeconfig.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import { type Clock, within } from '../support/clock.ts';
import { unhurried } from '../support/event-loop.ts';
import { type Host, untilAborted, version } from '../support/host.ts';
import {
  createControllerReport,
  createEventFailureReport,
  NOT_SERVED_ADVICE,
} from '../telemetry/controller-report.ts';
import { registerLeaseMetrics } from '../telemetry/election-metrics.ts';
import { createEventRecorder } from '../telemetry/event-recorder.ts';
import { createLogger, type Logger } from '../telemetry/logger.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from '../telemetry/metrics.ts';
import { type HealthCheck, startHttpServer } from './http-server.ts';

/** Kubernetes Events have a connection of their own, so that Events never delay elections or the lock. */
const EVENT_CONNECTIONS = 1;
/** Timeout of the startup check of the lock's namespace, in milliseconds. */
const REFUSAL_TIMEOUT_MS = 5000;

/**
 * Runs the coordinator with logs, metrics and health checks until a signal stops it.
 * @throws {Error} if the kubeconfig or service account, the lock namespace or the address `listen` cannot be used.
 */
export async function runCoordinator(settings: RunSettings, host: Host): Promise<void> {
  const { clock, env } = host;
  const { kubeconfig, context, dryRun } = settings;
  const kubeConfig = loadKubeConfig({ kubeconfig, context, env });
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const logger = createLogger({ level: settings.logLevel, clock });
  const metrics = createMetrics({ version, clock });
  collectProcessMetrics(metrics.registry);

  const connect = (connections: number) =>
    createClient({
      kubeConfig,
      clock,
      userAgent: `coordinated-leader-election/${version}`,
      connections,
      observe: metrics.api.called,
    });
  if (!dryRun) await refuseLock(settings.lockNamespace, connect(1), clock, stop);
  const events = dryRun ? undefined : startEvents(connect(EVENT_CONNECTIONS), logger, metrics, clock);
  const statusPage = settings.statusPage ? await createStatusPage(settings, clock, logger) : undefined;
  const report = createControllerReport({
    logger,
    metrics,
    now: () => clock.now(),
    isDryRun: dryRun,
    recordEvent: events?.record,
  });
  const coordinator = assembleCoordinator({
    clock,
    settings,
    connect,
    observe(event) {
      report(event);
      statusPage?.observe(event);
    },
  });
  const { controller, lock, lockRefusal, otherLocks } = coordinator;
  statusPage?.watch(coordinator);
  if (lock) metrics.lock.changed(lock.state);
  metrics.watch({
    scheduler: controller.scheduler,
    survey: (known) => controller.survey(known),
    lastHeard: (resource) => controller.lastHeard(resource),
    otherLocks: () => otherLocks().length,
    isLockRefused: () => lockRefusal() !== undefined,
  });
  if (settings.leaseMetrics)
    registerLeaseMetrics(metrics.registry, () => unhurried(controller.elections(), clock));

  const server =
    settings.listen &&
    (await startHttpServer(settings.listen, {
      clock,
      readinessChecks: () => readinessChecks(coordinator),
      metrics: metrics.registry,
      statusPage,
    }));
  logger.info({ version, server: coordinator.server, listen: server?.address, dryRun }, 'Started');
  coordinator.start();

  await untilAborted(stop);
  logger.info({ signal: stop.reason }, 'Stopping');
  const stopped = coordinator.stop();
  // Wait for the last election writes before Events and the server stop: these writes still produce Events, logs and metrics.
  await within(clock, QUIET_AFTER_MS, stopped);
  await Promise.all([stopped, events?.stop(), server?.close()]);
  logger.info('Stopped');
  logger.end();
}

/**
 * Refuses to start if the lock is outside kube-system and the API server serves native LeaseCandidates: the coordinator
 * built into kube-apiserver could then elect at the same time (rule 10). If the API server gives no valid answer, this
 * coordinator starts, but takes such a lock only after discovery has shown that the built-in cannot elect.
 * @throws {Error} with advice, if the namespace of the lock is refused.
 */
async function refuseLock(
  lockNamespace: string,
  client: KubernetesClient,
  clock: Clock,
  stop: AbortSignal,
): Promise<void> {
  // Closing the client after the timeout ends the check.
  const cancel = clock.setTimer(() => void client.close(0), REFUSAL_TIMEOUT_MS);
  const refusal = await checkLockNamespace(client, lockNamespace, stop).catch(() => undefined);
  cancel();
  await client.close(0);
  if (refusal !== undefined) throw new Error(refusal);
}

async function createStatusPage({ namespaces }: RunSettings, clock: Clock, logger: Logger) {
  const statusPage = await import('../status-page/status-page.ts');
  return statusPage.createStatusPage({
    clock,
    version,
    namespaces,
    notServedAdvice: NOT_SERVED_ADVICE,
    onError: (error) => logger.error({ err: error }, 'The status page failed'),
  });
}

function startEvents(client: KubernetesClient, logger: Logger, metrics: Metrics, clock: Clock) {
  const recorder = createEventRecorder({
    client,
    clock,
    host: hostname(),
    onEnd: metrics.eventEnded,
    onFailure: createEventFailureReport({ logger, now: clock.now }),
  });
  return {
    record: recorder.record,
    async stop() {
      await recorder.stop();
      await client.close();
    },
  };
}

function readinessChecks({ controller, lock, lockRefusal }: Coordinator): readonly HealthCheck[] {
  const { candidateApis } = controller;
  const checks: HealthCheck[] = [
    {
      name: 'leasecandidates-served',
      ok: candidateApis.length > 0,
      message:
        candidateApis.join(', ') || 'the API server serves no LeaseCandidates; see the log for what to do',
    },
    { name: 'leases-synced', ok: controller.hasSynced('leases') },
    { name: 'leasecandidates-synced', ok: controller.hasSynced('leasecandidates') },
  ];
  if (!lock) return checks;
  const refusal = lockRefusal();
  if (refusal !== undefined) checks.push({ name: 'lock-namespace', ok: false, message: refusal });
  const { kind, holder } = lock.state;
  const message = holder === undefined ? kind : `${kind}, held by ${holder}`;
  return [...checks, { name: 'coordinator-lock', ok: lock.isActive(), informational: true, message }];
}
