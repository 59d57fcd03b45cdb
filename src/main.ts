#!/usr/bin/env node
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { exitCode } from './cli/exit-code.ts';
import { createProgram } from './cli/program.ts';
import type { RunSettings } from './config.ts';
import { createApiLockStorage } from './controller/api-lock-storage.ts';
import { CoordinatorLock } from './controller/coordinator-lock.ts';
import { ElectionController } from './controller/election-controller.ts';
import { replicaIdentity } from './controller/lock-record.ts';
import { coordinatorLease } from './election/decide.ts';
import { createClient } from './kubernetes/client.ts';
import { loadKubeConfig } from './kubernetes/kubeconfig.ts';
import { systemClock as clock } from './system-clock.ts';
import { createControllerReport, createLockReport } from './telemetry/controller-report.ts';
import { type HealthCheck, startHttpServer } from './telemetry/http-server.ts';
import { createLogger, type Logger } from './telemetry/logger.ts';
import { collectProcessMetrics, createMetrics, type Metrics } from './telemetry/metrics.ts';
import { version } from './version.ts';

/** For reads and writes about elections; ADR 4 has the measurements. */
const CONNECTIONS = 32;

/** Wakes once, when the process is asked to end; a second request ends it at once. */
function untilAskedToStop(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal));
  });
}

/** Runs the coordinator until a signal asks it to stop. */
async function run(settings: RunSettings): Promise<number> {
  const kubeConfig = loadKubeConfig({
    ...(settings.kubeconfig !== undefined && { kubeconfig: settings.kubeconfig }),
    ...(settings.context !== undefined && { context: settings.context }),
    env: process.env,
  });
  const stopSignal = untilAskedToStop();
  const logger = createLogger({ level: settings.logLevel });
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
  const client = connect(CONNECTIONS);
  const lock = settings.dryRun ? undefined : assembleLock(settings, connect(2), logger, metrics);
  const controller = new ElectionController({
    client,
    clock,
    settings,
    namespaces: settings.namespaces,
    workers: settings.workers,
    isDryRun: settings.dryRun,
    mayWrite: () => lock === undefined || lock.lock.isActive(),
    observer: createControllerReport({ logger, metrics, now: clock.now, isDryRun: settings.dryRun }),
    workqueueObserver: metrics.workqueue.observer('leases'),
  });
  metrics.workqueue.watch('leases', controller.queue);
  metrics.elections.countLeasesWithoutLeader(() => controller.countLeasesWithoutLeader());

  const server =
    settings.listen &&
    (await startHttpServer(settings.listen, {
      livenessChecks: () => [],
      readinessChecks: () => readinessChecks(controller, lock?.lock),
      metrics: metrics.registry,
    }));
  logger.info(
    { version, server: client.server, listen: server?.address, dryRun: settings.dryRun },
    'Started',
  );
  controller.start();
  lock?.start(() => controller.reconsiderAll());

  const signal = await stopSignal;
  logger.info({ signal }, 'Stopping');
  // The lock is let go only when no write is under way any more, and then at once: somebody else is waiting for it.
  await controller.drain();
  await lock?.stop();
  await controller.stop();
  await Promise.all([client.close(), server?.close()]);
  logger.info('Stopped');
  return exitCode.ok;
}

function assembleLock(
  settings: RunSettings,
  client: ReturnType<typeof createClient>,
  logger: Logger,
  metrics: Metrics,
) {
  const report = createLockReport({ logger, metrics, now: clock.now });
  let onActive = () => {};
  const lock = new CoordinatorLock({
    clock,
    storage: createApiLockStorage(client, clock, coordinatorLease, report.watchFailed),
    identity: replicaIdentity(hostname(), randomUUID()),
    takeOver: settings.takeOver,
    onEvent: report.happened,
    onChange: (state) => {
      report.changed(state);
      if (state.kind === 'active') onActive();
    },
  });
  return {
    lock,
    start(whenActive: () => void) {
      onActive = whenActive;
      lock.start();
    },
    async stop() {
      await lock.stop();
      await client.close();
    },
  };
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

process.exitCode = await createProgram({
  version,
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  commands: { run },
}).execute(process.argv.slice(2));
