import {
  assembleCoordinator,
  type Coordinator,
  type CoordinatorParts,
} from '../../src/controller/coordinator.ts';
import { ElectionController } from '../../src/controller/election-controller.ts';
import { createClient } from '../../src/kubernetes/client.ts';
import { type RunSettings, runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import type { Clock } from '../../src/support/clock.ts';
import { createControllerReport, createEventFailureReport } from '../../src/telemetry/controller-report.ts';
import { createEventRecorder } from '../../src/telemetry/event-recorder.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';
import type { LogLine } from '../support/log-line.ts';
import { Changes } from './changes.ts';
import type { ClusterUser, EmbeddedCluster } from './embedded-cluster.ts';
import { HurriedClock } from './hurried-clock.ts';
import { patientClock } from './patient-clock.ts';

/** A replica of the coordinator in this process, made of the same parts as in the `run` command. */
export interface EmbeddedCoordinator {
  /** Everything logged so far. */
  readonly log: readonly LogLine[];
  /** Resolves to the first matching log line, past or future; `since` skips that many of the earliest. */
  waitForLog(matches: (line: LogLine) => boolean, since?: number): Promise<LogLine>;
  /** The log lines about a Lease that needs attention for `reason`. */
  troubles(namespace: string, lease: string, reason: string): readonly LogLine[];
  /** Waits until the log contains this line. */
  untilTrouble(namespace: string, lease: string, reason: string): Promise<LogLine>;
  stop(): Promise<void>;
}

/** The options of a replica. */
export interface EmbeddedCoordinatorOptions {
  /**
   * In addition to the defaults of `run`. They may be shorter than allowed, because they are not used for real
   * candidates.
   */
  readonly settings?: Partial<RunSettings>;
  /** Default `coordinator`. */
  readonly user?: ClusterUser;
  /** Default: {@link patientClock}. */
  readonly clock?: Clock;
  /** The server's address, if the replica uses a proxy. */
  readonly url?: string;
  /**
   * The speed of elections relative to the clock; `settings` are in election time. There is no lock, because no
   * server answers within its accelerated deadlines: the caller must ensure that no other coordinator runs.
   */
  readonly pace?: number;
}

/** Starts a replica on `cluster`. {@link untilActive} waits until it coordinates. */
export function startCoordinator(
  cluster: Pick<EmbeddedCluster, 'kubeConfigOf'>,
  { settings = {}, user = 'coordinator', clock = patientClock, url, pace }: EmbeddedCoordinatorOptions = {},
): EmbeddedCoordinator {
  const log: LogLine[] = [];
  const changes = new Changes();
  const destination = {
    write(text: string): void {
      log.push(JSON.parse(text) as LogLine);
      changes.notify();
    },
  };
  const logger = createLogger({ level: 'debug', destination });
  const metrics = createMetrics({ version: 'test', clock });
  const effective = { ...resolveSettings(runSettings, {}, {}), ...settings };
  const connect = (connections: number) =>
    createClient({
      kubeConfig: cluster.kubeConfigOf(user, url),
      clock,
      userAgent: 'test',
      connections,
      observe: metrics.api.called,
    });
  const eventClient = effective.dryRun ? undefined : connect(1);
  const recorder =
    eventClient &&
    createEventRecorder({
      client: eventClient,
      clock,
      host: 'test',
      onEnd: metrics.eventEnded,
      onFailure: createEventFailureReport({ logger, now: clock.now }),
    });
  const report = createControllerReport({
    logger,
    metrics,
    now: clock.now,
    isDryRun: effective.dryRun,
    recordEvent: recorder?.record,
  });
  const parts = {
    clock,
    settings: effective,
    connect,
    observe: report,
  };
  const coordinator =
    pace === undefined ? assembleCoordinator(parts) : assembleWithoutLock(parts, new HurriedClock(pace));
  coordinator.start();

  const waitForLog = (matches: (line: LogLine) => boolean, since = 0): Promise<LogLine> =>
    changes.until(
      () => log.slice(since).find(matches),
      () => `such a line; the last ones:\n${log.slice(-10).map(shorten).join('\n')}`,
    );
  const isTrouble = (namespace: string, lease: string, reason: string) => (line: LogLine) =>
    line.msg === 'Left a Lease as it is' && line.lease === `${namespace}/${lease}` && line.reason === reason;
  return {
    log,
    waitForLog,
    troubles: (namespace, lease, reason) => log.filter(isTrouble(namespace, lease, reason)),
    untilTrouble: (namespace, lease, reason) => waitForLog(isTrouble(namespace, lease, reason)),
    async stop() {
      await coordinator.stop();
      await recorder?.stop();
      await eventClient?.close();
    },
  };
}

function assembleWithoutLock(
  { settings, connect, observe }: CoordinatorParts,
  clock: Clock,
): Pick<Coordinator, 'start' | 'stop'> {
  const { namespaces, workers } = settings;
  const client = connect(workers);
  const mayWrite = () => true;
  const controller = new ElectionController({
    ...{ client, clock, settings, namespaces, workers, observe, mayWrite },
    isDryRun: false,
  });
  return {
    start: () => controller.start(),
    async stop() {
      await controller.stop();
      await client.close();
    },
  };
}

/** Waits until a replica is the active coordinator and has synced. */
export async function untilActive(coordinator: EmbeddedCoordinator): Promise<void> {
  await Promise.all([coordinator.waitForLog(({ state }) => state === 'active'), untilSynced(coordinator)]);
}

/** Waits until a replica sees the cluster. Without a lock it coordinates then. */
export async function untilSynced({ waitForLog }: EmbeddedCoordinator): Promise<void> {
  await waitForLog(({ msg }) => msg === 'Watching LeaseCandidates');
}

function shorten(line: LogLine): string {
  return JSON.stringify(line).slice(0, 400);
}
