import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { coordinatorLease, type Lease, readLease } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { ElectingComponent } from '../control-plane/electing-component.ts';
import { type Coordinator, eventually, installRole, startCoordinator, untilActive } from './coordinator.ts';

/** The fields that Kubernetes's own components write into a Lease that they hold. */
const componentLeaseMs = 15_000;
/** Extra time for the components and a slow machine: a component reads its Lease about every 2 s. */
const slackMs = 8_000;

/** The tests of each component depend on each other. Different components run in parallel. */
const inOrder = { concurrent: false } as const;

let plane: ControlPlane;
let coordinator: Coordinator;
let lockAtFirst: Lease | undefined;

beforeAll(async () => {
  plane = await startControlPlane();
  coordinator = await startCoordinator(await installRole(plane));
  await untilActive(coordinator);
  lockAtFirst = await readLease(plane, coordinatorLease);
});

afterAll(async () => {
  await coordinator?.stop();
  await plane?.stop();
});

describe.concurrent.each(['kube-scheduler', 'kube-controller-manager'] as const)('%s', (kind) => {
  const lease = { namespace: 'kube-system', name: kind } as const;
  let leader: ElectingComponent;
  let upgraded: ElectingComponent;

  /** Starts an instance that emulates Kubernetes 1.35, or that has its own version 1.36. */
  function start(name: string, emulatedVersion?: '1.35'): Promise<ElectingComponent> {
    const options = { name: `${kind}-${name}`, ...(emulatedVersion && { emulatedVersion }) };
    return kind === 'kube-scheduler' ? plane.startScheduler(options) : plane.startControllerManager(options);
  }

  /** Waits until this coordinator has granted it the Lease and it has renewed the Lease, as only a leader does. */
  async function untilLeads(component: ElectingComponent, timeoutMs: number): Promise<void> {
    const identity = await component.identity(60_000);
    await coordinator.waitForLog(
      ({ msg, lease: changed, holder, actions }) =>
        msg === 'Changed a Lease' &&
        changed === `kube-system/${kind}` &&
        holder === identity &&
        /CreateLease|UpdateLease grant/.test(String(actions)),
      timeoutMs,
    );
    await eventually(
      async () => {
        if (component.exit() !== undefined) throw new Error(`${component.name} has ended`);
        const spec = (await readLease(plane, lease))?.spec;
        return (spec?.holderIdentity === identity && spec.leaseDurationSeconds === 15) || undefined;
      },
      `${component.name} renews its Lease`,
      timeoutMs,
    );
  }

  /** Waits until the coordinator has handled a new candidate without changing the Lease. */
  async function expectNoChange(startedAt: number, newcomer: ElectingComponent): Promise<void> {
    const before = (await readLease(plane, lease))?.spec;
    await newcomer.identity(60_000);
    await coordinator.waitForLog(
      ({ lease: decided, reason, time }) =>
        decided === `kube-system/${kind}` && reason === 'LeaderOptimal' && Date.parse(time) >= startedAt,
    );
    const { holderIdentity, leaseTransitions, preferredHolder } = (await readLease(plane, lease))?.spec ?? {};
    expect(holderIdentity).toBe(await leader.identity());
    expect(leaseTransitions).toBe(before?.leaseTransitions);
    expect(preferredHolder).toBeUndefined();
  }

  test(
    'gets the instance with the older emulation as its leader when a newer one leads',
    inOrder,
    async () => {
      const newer = await start('newer');
      await untilLeads(newer, 60_000);
      leader = await start('older', '1.35');
      await untilLeads(leader, 60_000);
      // Like a component that has lost its Lease. The kubelet would restart it.
      await newer.exited;
    },
  );

  test('stays with the older emulation when its leader is upgraded', inOrder, async () => {
    const otherStartedAt = Date.now();
    const other = await start('other', '1.35');
    await expectNoChange(otherStartedAt, other);

    const stoppedAt = Date.now();
    leader.kill('SIGTERM');
    await leader.exited;
    const upgradedAt = Date.now();
    upgraded = await start('upgraded');
    leader = other;
    await untilLeads(leader, componentLeaseMs + slackMs);
    console.info(`${kind} stopped: the other led after ${Date.now() - stoppedAt} ms`);
    await expectNoChange(upgradedAt, upgraded);
  });

  test('gets the other instance when its leader is killed', inOrder, async () => {
    const killedAt = Date.now();
    leader.kill('SIGKILL');
    await untilLeads(upgraded, componentLeaseMs + slackMs);
    console.info(`${kind} killed: the other led after ${Date.now() - killedAt} ms`);
  });
});

test('never had another coordinator', async () => {
  const lock = await readLease(plane, coordinatorLease);
  expect(lock?.spec.holderIdentity).toMatch(/^coordinated-leader-election_/);
  // A Lease that is taken away and taken back would count as two.
  expect(lock?.spec.leaseTransitions).toBe(lockAtFirst?.spec.leaseTransitions);
  expect(lock?.spec.holderIdentity).toBe(lockAtFirst?.spec.holderIdentity);
});
