import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sourceOf } from '../coordination/candidate-sources.ts';
import { resourcePaths } from '../coordination/resource-paths.ts';
import { coordinatorLease, type ElectionSettings } from '../election/model.ts';
import { KEEP_ALIVE_MS } from '../kubernetes/channel.ts';
import type { KubernetesClient } from '../kubernetes/client.ts';
import type { ReflectorErrorContext } from '../kubernetes/reflector.ts';
import { type Clock, sleep, within } from '../support/clock.ts';
import type { ControllerObserver } from './controller-parts.ts';
import { ElectionController } from './election-controller.ts';
import { type LabelObserver, LeaderLabels } from './leader-label/leader-labels.ts';
import { CoordinatorLock } from './lock/coordinator-lock.ts';
import { replicaIdentity } from './lock/lock-record.ts';
import type { LockEvent, LockState } from './lock/lock-settings.ts';
import { createApiLockStorage } from './lock/lock-storage.ts';
import { HeldLocks, isOwnLock, lockRefusal } from './other-locks.ts';
import type { WorkqueueObserver } from './queue/workqueue.ts';
import type { WriteQueueObserver } from './queue/write-queue.ts';

/** For writes about elections, and discovery; ADR 4 has the measurements. Lists and watches have others. */
export const CONNECTIONS = 32;
/** The lock has connections of its own, so that load on elections cannot starve it. */
const LOCK_CONNECTIONS = 2;
/** Labels are written by a client of their own, so that no election waits for them. */
const LABEL_CONNECTIONS = 2;
/** What writes under way are given when the coordinator stops, in milliseconds, before their client is closed. */
const DRAIN_MS = 1000;
/** What they are given then. */
const ABORT_AFTER_MS = 500;
/** For the lock to be let go, in milliseconds; where that does not do, it expires. */
const RELEASE_MS = 1500;
/** Within this many milliseconds of {@link Coordinator.stop} nothing about an election is written any more. */
export const QUIET_AFTER_MS = DRAIN_MS + ABORT_AFTER_MS;

/** What happens to the coordinator's lock, for whoever logs and measures. Must not throw. */
export interface LockObserver {
  changed(state: LockState): void;
  happened(event: LockEvent): void;
  watchFailed(error: unknown, context: ReflectorErrorContext): void;
  /** The lock must not be where it is; told each time that this comes to be so. */
  refused(reason: string): void;
}

/** How a {@link Coordinator} is to work: those of `run`, as far as they are about coordination. */
export interface CoordinatorSettings extends ElectionSettings {
  /** Namespaces to coordinate; empty: all. */
  readonly namespaces: readonly string[];
  /** Writes to Leases and candidates under way at once, at most. */
  readonly workers: number;
  /** Decide and log, write nothing. */
  readonly dryRun: boolean;
  /** Take the coordinator's lock from the controller built into kube-apiserver, rather than wait for it. */
  readonly takeOver: boolean;
  /** The namespace of the coordinator's lock. */
  readonly lockNamespace: string;
}

/** What a {@link Coordinator} is made of. */
export interface CoordinatorParts {
  readonly clock: Clock;
  /** Makes a client with so many connections; the coordinator closes it. */
  readonly connect: (connections: number) => KubernetesClient;
  readonly settings: CoordinatorSettings;
  readonly observer: ControllerObserver;
  readonly lockObserver: LockObserver;
  /** Given where leaders' Pods are to have labels. */
  readonly labelObserver?: LabelObserver;
  readonly workqueueObserver?: WorkqueueObserver;
  readonly writeQueueObserver?: WriteQueueObserver;
}

/** A controller with the lock that lets it write; in a dry run there is none, as nothing is written. */
export interface Coordinator {
  /** The API server's URL. */
  readonly server: string;
  readonly controller: ElectionController;
  readonly lock: CoordinatorLock | undefined;
  /** The namespaces of other coordinators' locks that are held, as far as Leases there are watched. */
  otherLocks(): readonly string[];
  /** Why the lock must not be where it is, so that nothing is written; undefined while it may be there. */
  lockRefusal(): string | undefined;
  start(): void;
  /**
   * Ends all work, lets the lock go and closes all connections, in this order, and within 3 s whatever the server does:
   * what it has not answered by then is given up.
   */
  stop(): Promise<void>;
}

/** Puts a coordinator together; it does nothing until it is started. */
export function assembleCoordinator(parts: CoordinatorParts): Coordinator {
  const { clock, connect, settings, observer, labelObserver, workqueueObserver, writeQueueObserver } = parts;
  const client = connect(CONNECTIONS);
  const locking = settings.dryRun ? undefined : { client: connect(LOCK_CONNECTIONS) };
  // Also while it is not known whether the built-in may elect.
  const mayLock = () => !isOwnLock(settings.lockNamespace) || controller.isBuiltInRuledOut;
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
    observer,
    onSighted() {
      const reason = refusal();
      if (reason !== undefined && !isRefused) parts.lockObserver.refused(reason);
      isRefused = reason !== undefined;
      lock?.reconsider();
    },
    ...(workqueueObserver && { workqueueObserver }),
    ...(writeQueueObserver && { writeQueueObserver }),
  });
  const labelling = lock && labelObserver && { client: connect(LABEL_CONNECTIONS), observer: labelObserver };
  const labels =
    labelling &&
    new LeaderLabels({
      ...labelling,
      clock,
      namespaces: settings.namespaces,
      mayWrite,
      knows: (namespace) => controller.knows(namespace),
      gather: (key) => controller.gatherHolder(key),
      leases: () => controller.coordinatedLeases(),
    });
  if (labels) controller.subscribe((key, isRenewalOnly) => labels.seen(key, isRenewalOnly));
  const locks = new HeldLocks();
  const stopping = new AbortController();
  controller.subscribe((key) => locks.see(key, (one) => controller.gather(one).lease, clock.now()));
  return {
    server: client.server,
    controller,
    lock,
    otherLocks: () => locks.heldAt(clock.now()).filter((namespace) => namespace !== settings.lockNamespace),
    lockRefusal: refusal,
    start() {
      controller.start();
      labels?.start();
      lock?.start();
      // No more are needed at once than there may be writes under way.
      const connections = Math.min(CONNECTIONS, settings.workers);
      if (lock) void keepConnectionsOpen(client, { clock, connections, signal: stopping.signal });
    },
    async stop() {
      stopping.abort();
      // The lock is let go only when no write is under way any more, and then at once: somebody else is waiting for it.
      await within(clock, DRAIN_MS, Promise.all([controller.stop(), labels?.stop()]));
      await Promise.all([client.close(ABORT_AFTER_MS), labelling?.client.close(ABORT_AFTER_MS)]);
      await within(clock, RELEASE_MS, lock?.stop());
      await locking?.client.close(0);
    },
  };
}

/** What a lock asks of whoever it is for, and tells them. */
interface LockUser {
  canCoordinate(): boolean;
  onActive(isActive: boolean): void;
}

function assembleLock(
  { clock, settings, lockObserver }: CoordinatorParts,
  client: KubernetesClient,
  user: LockUser,
): CoordinatorLock {
  const lease = { ...coordinatorLease, namespace: settings.lockNamespace };
  return new CoordinatorLock({
    clock,
    storage: createApiLockStorage(client, clock, lease, lockObserver.watchFailed),
    identity: replicaIdentity(hostname(), randomUUID()),
    takeOver: settings.takeOver,
    canCoordinate: user.canCoordinate,
    onEvent: (event) => lockObserver.happened(event),
    onChange: (state) => {
      lockObserver.changed(state);
      user.onActive(state.kind === 'active');
    },
  });
}

/** Soon enough for answers to come before the first of the connections is closed, in milliseconds. */
const EVERY_MS = KEEP_ALIVE_MS - 10_000;
const DEADLINE_MS = 5000;

/**
 * Keeps connections open by a small request on each idle one every {@link EVERY_MS}, until `signal` aborts. To open them when
 * many Leases lose their leaders at once would cost both sides more than all the writes: a TLS handshake takes several times as
 * long. A write never waits for these requests: it ends one of them, where they hold all connections.
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
    // All at once: a connection that is free would be used again.
    const uses = Array.from({ length: connections }, () =>
      client.request({
        method: 'GET',
        path: resourcePaths.leaseApi,
        deadlineMs: DEADLINE_MS,
        signal,
        isBackground: true,
      }),
    );
    // The requests that need an answer report that the server gives none.
    await Promise.allSettled(uses);
    await sleep(clock, EVERY_MS, signal);
  }
}
