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

/** Maximum connections for election writes and discovery, see ADR 4. Lists and watches do not count. */
export const CONNECTIONS = 32;
/** The lock has its own client, so that the load of elections cannot delay it. */
const LOCK_CONNECTIONS = 2;
/** Labels have their own client, so that elections never wait for them. */
const LABEL_CONNECTIONS = 2;
/** Grace period for writes in flight before the coordinator closes their client, in ms. */
const DRAIN_MS = 1000;
/** Additional grace period after which the closed client aborts the remaining requests, in ms. */
const ABORT_AFTER_MS = 500;
/** Timeout of the lock's release, in ms. After a timeout, the lock expires. */
const RELEASE_MS = 1500;
/** All election writes end within this time after {@link Coordinator.stop} was called, in ms. */
export const QUIET_AFTER_MS = DRAIN_MS + ABORT_AFTER_MS;

/** The settings of `run` for the coordination. */
export interface CoordinatorSettings extends ElectionSettings {
  /** Empty for all namespaces. */
  readonly namespaces: readonly string[];
  /** Upper bound of writes in flight. */
  readonly workers: number;
  /** Whether the coordinator only decides and logs, and writes nothing. */
  readonly dryRun: boolean;
  /** Whether to take the lock by force from the controller built into kube-apiserver. */
  readonly takeOver: boolean;
  readonly lockNamespace: string;
  /** Whether the coordinator labels the Pods of leaders. */
  readonly leaderLabel: boolean;
}

export interface CoordinatorParts {
  readonly clock: Clock;
  /** Creates a client. The coordinator closes it. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: CoordinatorSettings;
  readonly observe: ObserveController;
}

/** The election controller with its lock. */
export interface Coordinator {
  /** The API server's URL. */
  readonly server: string;
  readonly controller: ElectionController;
  /** Undefined in a dry run, which writes nothing. */
  readonly lock: CoordinatorLock | undefined;
  /** The watched namespaces in which another coordinator holds a lock. */
  otherLocks(): readonly string[];
  /**
   * Why the namespace of the lock is not allowed; undefined while it is allowed. Until it is allowed, the coordinator
   * writes nothing.
   */
  lockRefusal(): string | undefined;
  start(): void;
  /**
   * Stops all work, then releases the lock, then closes all connections. Takes at most 3 s: requests without an answer
   * are aborted.
   */
  stop(): Promise<void>;
}

export function assembleCoordinator(parts: CoordinatorParts): Coordinator {
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
  const locking = settings.dryRun ? undefined : { client: connect(LOCK_CONNECTIONS) };
  // A separate lock is allowed only if it is certain that the built-in controller does not elect. Before discovery has
  // an answer, this is not certain.
  const mayLock = () => !isSeparateLock(settings.lockNamespace) || controller.isBuiltInRuledOut;
  const lock =
    locking &&
    assembleLock(parts, locking.client, {
      canCoordinate: () => mayLock() && controller.canElect(),
      onActive(isActive) {
        labels?.setActive(isActive);
        if (isActive) controller.takeOver(lock?.own);
      },
    });
  const mayWrite = () => lock === undefined || (mayLock() && lock.isActive());
  let isRefused = false;
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
  const labelling = lock && settings.leaderLabel ? { client: connect(LABEL_CONNECTIONS) } : undefined;
  const labels =
    labelling &&
    new LeaderLabels({
      ...labelling,
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
    lock,
    otherLocks: () => locks.heldAt(clock.now()).filter((namespace) => namespace !== settings.lockNamespace),
    lockRefusal: refusal,
    start() {
      controller.start();
      lock?.start();
      // Keep no more connections than there can be writes in flight.
      const connections = Math.min(CONNECTIONS, settings.workers);
      if (lock) void keepConnectionsOpen(client, { clock, connections, signal: stopping.signal });
    },
    async stop() {
      stopping.abort();
      // Release the lock as soon as no write is in flight, because a standby waits for it.
      await within(clock, DRAIN_MS, Promise.all([controller.stop(), labels?.stop()]));
      await Promise.all([client.close(ABORT_AFTER_MS), labelling?.client.close(ABORT_AFTER_MS)]);
      await within(clock, RELEASE_MS, lock?.stop());
      await locking?.client.close(0);
    },
  };
}

interface LockUser {
  canCoordinate(): boolean;
  onActive(isActive: boolean): void;
}

function assembleLock(
  { clock, settings, observe }: CoordinatorParts,
  client: KubernetesClient,
  user: LockUser,
): CoordinatorLock {
  const lease = { ...coordinatorLease, namespace: settings.lockNamespace };
  return new CoordinatorLock({
    clock,
    storage: createApiLockStorage(client, clock, lease, (error, context) =>
      observe({ type: 'lockWatchFailed', error, context }),
    ),
    identity: replicaIdentity(hostname(), randomUUID()),
    takeOver: settings.takeOver,
    canCoordinate: user.canCoordinate,
    onEvent: (event) => observe({ type: 'lockEvent', event }),
    onChange: (state) => {
      observe({ type: 'lockChanged', state });
      user.onActive(state.kind === 'active');
    },
  });
}

/** Interval of requests on each connection, in ms. Shorter than the time after which an idle connection is closed. */
const KEEP_OPEN_INTERVAL_MS = KEEP_ALIVE_MS - 10_000;
const KEEP_OPEN_DEADLINE_MS = 5000;

/**
 * Keeps connections open until `signal` aborts: sends a small request on each idle connection. If many Leases lose their
 * leaders at once, opening connections would cost more than all the writes: a TLS handshake takes several times as long
 * as a write. A write never waits for these requests: if they use all connections, the write aborts one of them.
 */
export async function keepConnectionsOpen(
  client: Pick<KubernetesClient, 'request'>,
  {
    clock,
    connections,
    signal,
  }: { readonly clock: Clock; readonly connections: number; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    // Send all of them at once: sent one after the other, they would use the same connection.
    const uses = Array.from({ length: connections }, () =>
      client.request({
        method: 'GET',
        path: resourcePaths.leaseApi,
        deadlineMs: KEEP_OPEN_DEADLINE_MS,
        signal,
        isBackground: true,
      }),
    );
    // Ignore errors: other requests report them.
    await Promise.allSettled(uses);
    await sleep(clock, KEEP_OPEN_INTERVAL_MS, signal);
  }
}
