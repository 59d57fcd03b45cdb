import type { RunSettings } from './config.ts';
import type { CoordinatorLock } from './controller/coordinator-lock.ts';
import type { ElectionController } from './controller/election-controller.ts';
import { assembleCoordinator } from './coordinator.ts';
import { type Host, untilAborted } from './host.ts';
import { createClient } from './kubernetes/client.ts';
import { loadKubeConfig } from './kubernetes/kubeconfig.ts';
import { createControllerReport, createLockReport } from './telemetry/controller-report.ts';
import { type HealthCheck, startHttpServer } from './telemetry/http-server.ts';
import { createLogger } from './telemetry/logger.ts';
import { collectProcessMetrics, createMetrics } from './telemetry/metrics.ts';
import { version } from './version.ts';

/**
 * Runs the coordinator, with logs, metrics and health checks, until the process is asked to stop.
 *
 * @throws {Error} when there is no cluster to talk to, or the address for metrics is not to be had.
 */
export async function runCoordinator(settings: RunSettings, host: Host): Promise<void> {
  const { clock, env } = host;
  const kubeConfig = loadKubeConfig({
    ...(settings.kubeconfig !== undefined && { kubeconfig: settings.kubeconfig }),
    ...(settings.context !== undefined && { context: settings.context }),
    env,
  });
  const stop = host.stopOn('SIGTERM', 'SIGINT');
  const logger = createLogger({ level: settings.logLevel });
  const metrics = createMetrics({ version, clock });
  collectProcessMetrics(metrics.registry);

  const coordinator = assembleCoordinator({
    clock,
    settings,
    connect: (connections) =>
      createClient({
        kubeConfig,
        clock,
        userAgent: `coordinated-leader-election/${version}`,
        connections,
        observe: metrics.api.called,
      }),
    observer: createControllerReport({ logger, metrics, now: clock.now, isDryRun: settings.dryRun }),
    lockObserver: createLockReport({ logger, metrics, now: clock.now }),
    workqueueObserver: metrics.workqueue.observer('leases'),
  });
  const { controller, lock } = coordinator;
  metrics.workqueue.watch('leases', controller.queue);
  metrics.elections.countLeasesWithoutLeader(() => controller.countLeasesWithoutLeader());

  const server =
    settings.listen &&
    (await startHttpServer(settings.listen, {
      livenessChecks: () => [],
      readinessChecks: () => readinessChecks(controller, lock),
      metrics: metrics.registry,
    }));
  logger.info(
    { version, server: coordinator.server, listen: server?.address, dryRun: settings.dryRun },
    'Started',
  );
  coordinator.start();

  await untilAborted(stop);
  logger.info({ signal: stop.reason }, 'Stopping');
  await coordinator.stop();
  await server?.close();
  logger.info('Stopped');
}

function readinessChecks(
  controller: ElectionController,
  lock: CoordinatorLock | undefined,
): readonly HealthCheck[] {
  const candidateVersion = controller.candidateVersion;
  const served: HealthCheck = {
    name: 'leasecandidates-served',
    ok: candidateVersion !== undefined,
    message:
      candidateVersion ??
      'the API server serves no version of LeaseCandidate; see the log for how to turn it on',
  };
  const synced = (['leases', 'leasecandidates'] as const).map(
    (resource): HealthCheck => ({
      name: `${resource}-synced`,
      ok: controller.hasSynced(resource),
    }),
  );
  if (!lock) return [served, ...synced];
  const { kind, holder } = lock.state;
  const message = holder === undefined ? kind : `${kind}, held by ${holder}`;
  return [served, ...synced, { name: 'coordinator-lock', ok: lock.isActive(), informational: true, message }];
}
