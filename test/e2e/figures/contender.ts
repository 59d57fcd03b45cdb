import {
  candidatesPath,
  coordinatorAccount,
  coordinatorLease,
  createNamespaces,
  leasesPath,
  readLease,
} from '../../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import type { Electors } from '../../control-plane/electors.ts';
import {
  type WatchedCandidate,
  type WatchedLease,
  type WatchedObjects,
  watchCandidates,
  watchLeases,
} from '../../control-plane/watched-objects.ts';
import { type AuditedRequest, prepareAuditLog } from '../audit-log.ts';
import { eventually, installRole, startCoordinator, untilActive } from '../coordinator.ts';
import { builtIn } from '../coordinator-turns.ts';
import { type SimPrograms, startSimPrograms } from './sim-programs.ts';

const ours = `system:serviceaccount:${coordinatorAccount.namespace}:${coordinatorAccount.name}`;

/** The measured coordinators. */
export type ContenderName = 'built-in' | 'this controller';

/** What a log contains. */
export interface Logged {
  readonly lines: number;
  readonly bytes: number;
}

/** A coordinator on its own control plane, with tools to measure it. */
export interface Contender {
  readonly name: ContenderName;
  readonly plane: ControlPlane;
  /** Of its process: for the built-in coordinator, this is the whole kube-apiserver. */
  readonly pid: number;
  /** The process's log so far. */
  logged(): Logged;
  /** Its requests for Leases and candidates of a namespace, received in [from, to), ms since the epoch; no watches. */
  calls(namespace: string, from: number, to: number): Promise<readonly AuditedRequest[]>;
  /** Deletes all Leases and candidates of a namespace. */
  clear(namespace: string): Promise<void>;
  stop(): Promise<void>;
}

/** A control plane that records the requests of coordinators. */
export interface AuditedPlane {
  readonly plane: ControlPlane;
  /** Requests for Leases and candidates of a namespace, received in [from, to), ms since the epoch; no watches. */
  calls(
    of: 'built-in' | 'service account',
    namespace: string,
    from: number,
    to: number,
  ): Promise<readonly AuditedRequest[]>;
  stop(): Promise<void>;
}

/** The built-in coordinator of a fresh control plane may not act yet: see {@link untilBuiltInActs}. */
export async function startAuditedPlane(): Promise<AuditedPlane> {
  // Requests of the candidates are not recorded: there are far more, and they would slow the server down.
  const audit = await prepareAuditLog([{ level: 'Metadata', users: [builtIn, ours] }]);
  const plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
  return {
    plane,
    async calls(of, namespace, from, to) {
      const counted = of === 'built-in' ? builtIn : ours;
      const requests = await audit.requests();
      return requests.filter(
        ({ verb, user, receivedAt, ...request }) =>
          verb !== 'watch' &&
          user === counted &&
          request.namespace === namespace &&
          receivedAt >= from &&
          receivedAt < to,
      );
    },
    async stop() {
      await plane.stop();
      await audit.remove();
    },
  };
}

/** Both start the same way. To measure this controller, it then takes over, and the built-in one is on standby. */
export async function startContender(name: ContenderName): Promise<Contender> {
  const { plane, ...audited } = await startAuditedPlane();
  const coordinator =
    name === 'this controller'
      ? await startCoordinator(await installRole(plane), ['--log-level', 'info'])
      : undefined;
  if (coordinator) await untilActive(coordinator);
  else await untilBuiltInActs(plane);
  return {
    name,
    plane,
    pid: coordinator?.pid ?? plane.apiServer.pid,
    logged() {
      const text = coordinator
        ? coordinator.log.map((line) => `${JSON.stringify(line)}\n`).join('')
        : plane.apiServer.logs();
      return { lines: text.split('\n').length - 1, bytes: Buffer.byteLength(text) };
    },
    calls: (namespace, from, to) =>
      audited.calls(coordinator ? 'service account' : 'built-in', namespace, from, to),
    async clear(namespace) {
      await deleteAll(plane, candidatesPath({ namespace }));
      await deleteAll(plane, leasesPath(namespace));
    },
    async stop() {
      await coordinator?.stop();
      await audited.stop();
    },
  };
}

/** Waits until the built-in coordinator of a fresh control plane has its lock. */
export async function untilBuiltInActs(plane: ControlPlane): Promise<void> {
  await eventually(async () => {
    const lock = await readLease(plane, coordinatorLease).catch(() => undefined);
    return lock?.spec.holderIdentity || undefined;
  }, 'the built-in controller has its lock');
}

/** A namespace for one scenario, with an observer of its Leases. */
export interface Stage {
  readonly contender: Contender;
  readonly namespace: string;
  readonly leases: WatchedObjects<WatchedLease>;
}

/** A stage for client-go's own candidates. */
export interface ElectorStage extends Stage {
  readonly electors: Electors;
  readonly candidates: WatchedObjects<WatchedCandidate>;
}

/** A stage for so many candidates that they must be simulated. */
export interface SimStage extends Stage {
  readonly programs: SimPrograms;
}

/** Runs `scenario` with client-go's candidates in a namespace of its own. */
export function onElectorStage<T>(
  contender: Contender,
  namespace: string,
  scenario: (stage: ElectorStage) => Promise<T>,
): Promise<T> {
  return onStage(contender, namespace, async (stage) => {
    const electors = await contender.plane.startElectors();
    const candidates = await watchCandidates(contender.plane);
    try {
      return await scenario({ ...stage, electors, candidates });
    } finally {
      candidates.stop();
      await electors.stop();
    }
  });
}

/** Runs `scenario` with simulated candidates in a namespace of its own. */
export function onSimStage<T>(
  contender: Contender,
  namespace: string,
  scenario: (stage: SimStage) => Promise<T>,
): Promise<T> {
  return onStage(contender, namespace, async (stage) => {
    const programs = await startSimPrograms(contender.plane, namespace);
    try {
      return await scenario({ ...stage, programs });
    } finally {
      await programs.stop();
    }
  });
}

async function onStage<T>(
  contender: Contender,
  namespace: string,
  scenario: (stage: Stage) => Promise<T>,
): Promise<T> {
  const { plane } = contender;
  await createNamespaces(plane, namespace);
  const leases = await watchLeases(plane);
  try {
    return await scenario({ contender, namespace, leases });
  } finally {
    leases.stop();
  }
}

/** One page at a time: thousands take longer than a request may. */
async function deleteAll(plane: ControlPlane, collection: string): Promise<void> {
  for (;;) {
    const { items } = await plane.request<{ items: unknown[] }>('DELETE', `${collection}?limit=200`);
    if (items.length === 0) return;
  }
}
