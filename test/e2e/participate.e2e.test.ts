import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import type { ParticipateOptions } from '../../src/participant/participant-options.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { type WatchedLease, type WatchedObjects, watchLeases } from '../control-plane/watched-objects.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from './coordinator.ts';
import { overlapsOf, type ParticipantProgram, startParticipantProgram } from './participant-programs.ts';
import { runProgram } from './program-run.ts';

const namespace = 'default';
const timeout = 120_000;

describe.each([
  { name: 'with the feature gate on', coordinatedLeaderElection: true },
  { name: 'with the feature gate off, by the custom resource', coordinatedLeaderElection: false },
])('participants of a kube-apiserver $name', ({ coordinatedLeaderElection }) => {
  let plane: ControlPlane;
  let coordinator: Coordinator;
  let leases: WatchedObjects<WatchedLease>;

  beforeAll(async () => {
    plane = await startControlPlane({ coordinatedLeaderElection });
    if (!coordinatedLeaderElection) await installCandidateResource(plane);
    coordinator = await startCoordinator(await installRole(plane));
    leases = await watchLeases(plane);
    await untilActive(coordinator, 90_000);
  });
  afterAll(async () => {
    leases?.stop();
    await coordinator?.stop();
    await plane?.stop();
  });

  function start(
    context: TestContext,
    options: Pick<ParticipateOptions, 'lease' | 'identity'> & Partial<ParticipateOptions>,
    how: { readonly stopsInMs?: number } = {},
  ): ParticipantProgram {
    const { kubeconfig } = plane;
    return startParticipantProgram(
      { binaryVersion: '1.4.2', namespace, kubeconfig, ...options },
      how,
      context,
    );
  }

  const spec = (lease: string) => leases.current(namespace, lease)?.spec;

  test('renew a grant at once, and yield to a better one in the time that they need to stop', {
    timeout,
  }, async (context) => {
    const lease = 'planned';
    const one = start(context, { lease, identity: 'planned-one' }, { stopsInMs: 300 });
    const led = await one.waitFor('leads');
    const [granted] = leases.history(namespace, lease);
    expect(granted?.object.spec.holderIdentity).toBe('planned-one');
    expect(led.at - (granted?.wallMs ?? 0)).toBeLessThan(500);
    expect(led.fencingToken).toBe(spec(lease)?.leaseTransitions);

    const better = start(context, { lease, identity: 'planned-two', emulationVersion: '1.3.0' });
    const told = await one.waitFor('told');
    const stopped = await one.waitFor('stopped');
    const next = await better.waitFor('leads');
    expect(told.why).toBe('yielded');
    expect(stopped.at).toBeLessThan(next.at);
    expect(next.at - stopped.at).toBeLessThan(2000);
    expect(next.fencingToken).toBeGreaterThan(led.fencingToken ?? 0);
    expect(overlapsOf([one, better])).toEqual([]);

    const { code, stdout } = await runProgram(
      ['transfer', lease, '--to', 'planned-one', '--for', '10m', '--kubeconfig', plane.kubeconfig],
      {},
    );
    expect(stdout).toContain('planned-one leads');
    expect(code).toBe(0);
    await one.waitFor('leads', one.events.indexOf(stopped));
    expect(overlapsOf([one, better])).toEqual([]);
  });
});

test('participants are also elected by the coordinator built into kube-apiserver, with their own fencing tokens', {
  timeout: 240_000,
}, async (context) => {
  const plane = await startControlPlane();
  context.onTestFinished(() => plane.stop());
  const options = { lease: 'builtin', namespace, binaryVersion: '1.4.2', kubeconfig: plane.kubeconfig };
  const one = startParticipantProgram({ ...options, identity: 'builtin-one' }, {}, context);
  const first = await one.waitFor('leads');
  const better = startParticipantProgram(
    { ...options, identity: 'builtin-better', emulationVersion: '1.3.0' },
    {},
    context,
  );
  const second = await better.waitFor('leads');
  expect((await one.waitFor('told')).why).toBe('yielded');
  const seen = one.events.length;
  await better.stop();
  const third = await one.waitFor('leads', seen);
  const numbers = [first, second, third].map(({ fencingToken = -1 }) => fencingToken);
  expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
  expect(overlapsOf([one, better])).toEqual([]);
});
