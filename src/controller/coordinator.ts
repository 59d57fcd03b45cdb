import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { coordinatorLease, type ElectionSettings } from '../election/model.ts';
import { KEEP_ALIVE_MS } from '../kubernetes/channel.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import { type Clock, sleep, within } from '../support/clock.ts';
import type { ControllerEvent, ObserveController } from './controller-event.ts';
import { ElectionController } from './election-controller.ts';
import { LeaderLabels } from './leader-label/leader-labels.ts';
import { CoordinatorLock } from './lock/coordinator-lock.ts';
import { replicaIdentity } from './lock/lock-record.ts';
import { createApiLockStorage } from './lock/lock-storage.ts';
import { HeldLocks, isSeparateLock, lockRefusal } from './other-locks.ts';

/** Maximum connections for election writes and short reads (ADR 4). Lists and watches have their own connections. */
export const CONNECTIONS = 32;
/** Maximum connections per client, for two clients: one for the lock, one for labels. Elections use a third client. */
const OTHER_CONNECTIONS = 2;
/** When the coordinator stops: grace period for writes in flight before the coordinator closes their client, in ms. */
const DRAIN_MS = 1000;
/** Additional grace period after which the closed client aborts the remaining requests, in ms. */
const ABORT_AFTER_MS = 500;
/** Maximum wait for the release of the lock, in ms. Without a release, standbys have to wait until the lock expires. */
const RELEASE_MS = 1500;
/** All election writes end within this time after `stop()` was called, in ms. */
export const QUIET_AFTER_MS = DRAIN_MS + ABORT_AFTER_MS;

export interface CoordinatorSettings extends ElectionSettings {
  /** Empty for all namespaces. */
  readonly namespaces: readonly string[];
  /** Maximum election writes in flight. */
  readonly workers: number;
  /** Whether the coordinator makes and reports decisions, but writes nothing to the cluster. */
  readonly dryRun: boolean;
  /** Whether to take the lock by force from a foreign holder, such as the controller built into kube-apiserver. */
  readonly takeOver: boolean;
  readonly lockNamespace: string;
  readonly leaderLabel: boolean;
}

export interface CoordinatorParts {
  readonly clock: Clock;
  /** Creates a client, which the coordinator closes. The maximum `connections` does not apply to lists and watches. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: CoordinatorSettings;
  readonly observe: ObserveController;
}

/** One replica of this program: the election controller, with its lock and its leader labels. */
export type Coordinator = ReturnType<typeof assembleCoordinator>;

export function assembleCoordinator(parts: CoordinatorParts) {
  const { clock, connect, settings } = parts;
  const client = connect(CONNECTIONS);
  const locks = new HeldLocks();
  const observe = (event: ControllerEvent) => {
    if (event.type === 'seen') {
      locks.see(event.key, (key) => controller.gather(key).lease, clock.now());
      labels?.seen(event.key, event.isRenewalOnly);
    }
    parts.observe(event);
  };
  const lockClient = settings.dryRun ? undefined : connect(OTHER_CONNECTIONS);
  // If the lock is not in kube-system, the built-in controller does not see it, and could elect at the same time. Such
  // a lock is allowed only after discovery has shown that the built-in controller cannot elect.
  const mayLock = () => !isSeparateLock(settings.lockNamespace) || controller.isBuiltInRuledOut;
  const lock =
    lockClient &&
    new CoordinatorLock({
      clock,
      storage: createApiLockStorage(
        lockClient,
        clock,
        { ...coordinatorLease, namespace: settings.lockNamespace },
        (error, context) => observe({ type: 'lockWatchFailed', error, context }),
      ),
      identity: replicaIdentity(hostname(), randomUUID()),
      takeOver: settings.takeOver,
      canCoordinate: () => mayLock() && controller.canElect(),
      onEvent: (event) => observe({ type: 'lockEvent', event }),
      onChange(state) {
        const isActive = state.kind === 'active';
        observe({ type: 'lockChanged', state });
        labels?.setActive(isActive);
        if (isActive) controller.takeOver(lock?.own);
      },
    });
  const mayWrite = () => lock === undefined || (mayLock() && lock.isActive());
  let isRefused = false;
  /** Returns why the coordinator refuses the namespace of its lock; undefined if it does not refuse this namespace. */
  const refusal = () => {
    const served = controller.candidateApis.find((api) => sourceOf(api) === 'native');
    if (lock === undefined || mayLock() || served === undefined) return undefined;
    return lockRefusal(settings.lockNamespace, served);
  };
  const controller = new ElectionController({
    client,
    clock,
    settings,
    namespaces: settings.namespaces,
    workers: settings.workers,
    isDryRun: settings.dryRun,
    mayWrite,
    observe,
    onCanElectChange() {
      const reason = refusal();
      if (reason !== undefined && !isRefused) observe({ type: 'lockRefused', reason });
      isRefused = reason !== undefined;
      lock?.reconsider();
    },
  });
  const labelClient = lock && settings.leaderLabel ? connect(OTHER_CONNECTIONS) : undefined;
  const labels =
    labelClient &&
    new LeaderLabels({
      client: labelClient,
      clock,
      observe,
      namespaces: settings.namespaces,
      mayWrite,
      knows: (namespace) => controller.knows(namespace),
      gather: (key) => controller.gatherHolder(key),
      leases: () => controller.coordinatedLeases(),
    });
  const stopping = new AbortController();
  return {
    server: client.server,
    controller,
    /** Undefined in a dry run, which writes nothing. */
    lock,
    /** Returns each watched namespace in which a coordinator holds a lock, except `lockNamespace`. */
    otherLocks: () => locks.heldAt(clock.now()).filter((namespace) => namespace !== settings.lockNamespace),
    lockRefusal: refusal,
    start() {
      controller.start();
      lock?.start();
      // More connections than the maximum number of writes in flight would stay unused.
      const connections = Math.min(CONNECTIONS, settings.workers);
      if (lock) void keepConnectionsOpen(client, clock, connections, stopping.signal);
    },
    /** Stops all work, releases the lock, and closes all connections. Aborts slow requests, to end within 3 s. */
    async stop() {
      stopping.abort();
      // A standby waits for the lock: release the lock as soon as no write is in flight, or when the grace periods end.
      await within(clock, DRAIN_MS, Promise.all([controller.stop(), labels?.stop()]));
      await Promise.all([client.close(ABORT_AFTER_MS), labelClient?.close(ABORT_AFTER_MS)]);
      await within(clock, RELEASE_MS, lock?.stop());
      await lockClient?.close(0);
    },
  };
}

/** Interval of the requests that keep connections open, in ms: 10 s shorter than the idle timeout of a connection. */
const KEEP_OPEN_INTERVAL_MS = KEEP_ALIVE_MS - 10_000;
const KEEP_OPEN_REQUEST = {
  method: 'GET',
  path: resourcePaths.leaseApi,
  deadlineMs: 5000,
  isBackground: true,
} as const;

/**
 * Keeps `connections` connections open until `signal` aborts: sends small requests on the idle ones from time to time.
 * Otherwise, if many Leases lose their leaders at once, opening connections would take several times as long as the
 * writes. A write that finds no free connection aborts one of the small requests.
 */
export async function keepConnectionsOpen(
  client: Pick<KubernetesClient, 'request'>,
  clock: Clock,
  connections: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    // Send all requests at once: sequential requests would use the same connection.
    const uses = Array.from({ length: connections }, () => client.request({ ...KEEP_OPEN_REQUEST, signal }));
    // Ignore errors: a request rejects if no connection is idle, and writes and watches report problems of the server.
    await Promise.allSettled(uses);
    await sleep(clock, KEEP_OPEN_INTERVAL_MS, signal);
  }
}
