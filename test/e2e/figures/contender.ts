import { type ControlPlane, startControlPlane } from '../../control-plane/control-plane.ts';
import type { Electors } from '../../control-plane/electors.ts';
import { eventually, installRole, startCoordinator, untilActive } from '../coordinator.ts';
import {
  type LeaseCandidateObject,
  type LeaseObject,
  type ObjectWatch,
  watchCandidates,
  watchLeases,
} from '../object-watch.ts';
import { builtInUser, coordinatorUser, createAuditLog } from './audit-log.ts';

/** Who is measured. */
export type ContenderName = 'built-in' | 'this controller';

/** A coordinator on a control plane of its own, and what it takes to measure it. */
export interface Contender {
  readonly name: ContenderName;
  readonly plane: ControlPlane;
  /** The API calls that it made about Leases and candidates in the namespace `default`, received in [from, to). */
  countCalls(from: number, to: number): Promise<number>;
  stop(): Promise<void>;
}

/** Both start alike; where this controller is measured it then takes over, and the built-in one stands by. */
export async function startContender(name: ContenderName): Promise<Contender> {
  const audit = await createAuditLog();
  const plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
  const coordinator =
    name === 'this controller'
      ? await startCoordinator(await installRole(plane), ['--log-level', 'info'])
      : undefined;
  if (coordinator) await untilActive(coordinator);
  else await untilBuiltInActs(plane);
  const user = name === 'built-in' ? builtInUser : coordinatorUser;
  return {
    name,
    plane,
    countCalls: (from, to) => audit.count(user, from, to),
    async stop() {
      await coordinator?.stop();
      await plane.stop();
      await audit.remove();
    },
  };
}

async function untilBuiltInActs(plane: ControlPlane): Promise<void> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller';
  await eventually(async () => {
    const lock = await plane.request<LeaseObject>('GET', path).catch(() => undefined);
    return lock?.spec.holderIdentity || undefined;
  }, 'the built-in controller has its lock');
}

/** Candidates for one scenario, and a view of what becomes of their Leases. */
export interface Stage {
  readonly contender: Contender;
  readonly electors: Electors;
  readonly leases: ObjectWatch<LeaseObject>;
  readonly candidates: ObjectWatch<LeaseCandidateObject>;
}

/** Runs `scenario` in an empty namespace, and empties it afterwards: dead candidates would slow the next one down. */
export async function onStage<T>(contender: Contender, scenario: (stage: Stage) => Promise<T>): Promise<T> {
  const { plane } = contender;
  const electors = await plane.startElectors();
  const leases = await watchLeases(plane, 'default');
  const candidates = await watchCandidates(plane, 'default');
  try {
    return await scenario({ contender, electors, leases, candidates });
  } finally {
    leases.stop();
    candidates.stop();
    await electors.stop();
    const collection = '/apis/coordination.k8s.io';
    await plane.request('DELETE', `${collection}/v1beta1/namespaces/default/leasecandidates`);
    await plane.request('DELETE', `${collection}/v1/namespaces/default/leases`);
  }
}
