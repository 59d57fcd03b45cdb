import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import type { Electors } from '../../control-plane/electors.ts';
import { prepareAuditLog } from '../audit-log.ts';
import {
  candidatesPath,
  coordinatorAccount,
  coordinatorLease,
  leasesPath,
  readLease,
} from '../cluster-objects.ts';
import { eventually, installRole, startCoordinator, untilActive } from '../coordinator.ts';
import { builtIn } from '../coordinator-turns.ts';
import {
  type WatchedCandidate,
  type WatchedLease,
  type WatchedObjects,
  watchCandidates,
  watchLeases,
} from '../watched-objects.ts';

/** Where every scenario plays. */
export const namespace = 'default';

const ours = `system:serviceaccount:${coordinatorAccount.namespace}:${coordinatorAccount.name}`;

/** Who is measured. */
export type ContenderName = 'built-in' | 'this controller';

/** A coordinator on a control plane of its own, and what it takes to measure it. */
export interface Contender {
  readonly name: ContenderName;
  readonly plane: ControlPlane;
  /** Its API calls about Leases and candidates in {@link namespace}, received in [from, to): ms since the epoch. */
  countCalls(from: number, to: number): Promise<number>;
  stop(): Promise<void>;
}

/** Both start alike; where this controller is measured it then takes over, and the built-in one stands by. */
export async function startContender(name: ContenderName): Promise<Contender> {
  // What the candidates do is not recorded at all: there is far more of it, and it would slow the server down.
  const audit = await prepareAuditLog([
    { level: 'Metadata', users: [builtIn, ours], namespaces: [namespace] },
  ]);
  const plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
  const coordinator =
    name === 'this controller'
      ? await startCoordinator(await installRole(plane), ['--log-level', 'info'])
      : undefined;
  if (coordinator) await untilActive(coordinator);
  else await untilBuiltInActs(plane);
  const counted = name === 'built-in' ? builtIn : ours;
  return {
    name,
    plane,
    async countCalls(from, to) {
      const requests = await audit.requests();
      return requests.filter(
        ({ verb, user, receivedAt }) =>
          verb !== 'watch' && user === counted && receivedAt >= from && receivedAt < to,
      ).length;
    },
    async stop() {
      await coordinator?.stop();
      await plane.stop();
      await audit.remove();
    },
  };
}

async function untilBuiltInActs(plane: ControlPlane): Promise<void> {
  await eventually(async () => {
    const lock = await readLease(plane, coordinatorLease).catch(() => undefined);
    return lock?.spec.holderIdentity || undefined;
  }, 'the built-in controller has its lock');
}

/** Candidates for one scenario, and a view of what becomes of their Leases. */
export interface Stage {
  readonly contender: Contender;
  readonly electors: Electors;
  readonly leases: WatchedObjects<WatchedLease>;
  readonly candidates: WatchedObjects<WatchedCandidate>;
}

/** Runs `scenario` in an empty namespace, and empties it afterwards: dead candidates would slow the next one down. */
export async function onStage<T>(contender: Contender, scenario: (stage: Stage) => Promise<T>): Promise<T> {
  const { plane } = contender;
  const electors = await plane.startElectors();
  const leases = await watchLeases(plane);
  const candidates = await watchCandidates(plane);
  try {
    return await scenario({ contender, electors, leases, candidates });
  } finally {
    leases.stop();
    candidates.stop();
    await electors.stop();
    await plane.request('DELETE', candidatesPath({ namespace }));
    await plane.request('DELETE', leasesPath(namespace));
  }
}
