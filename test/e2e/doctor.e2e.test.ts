import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sortedYaml } from '../chart/plain-manifests.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { coordinatorAccount, createNamespaces } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { eventually } from './coordinator.ts';
import { startHelm } from './helm.ts';
import { kubectlFor } from './kubectl.ts';
import { runProgram } from './program-run.ts';

interface Finding {
  readonly severity: string;
  readonly what: string;
  readonly advice?: string;
}

/** A server that lacks several things, which are added step by step. */
describe('doctor reports problems', () => {
  let plane: ControlPlane;
  let coordinator: string;

  beforeAll(async () => {
    plane = await startControlPlane({ readyWithinMs: 120_000, coordinatedLeaderElection: false });
    await createNamespaces(plane, 'infra');
    const path = `/api/v1/namespaces/${coordinatorAccount.namespace}/serviceaccounts`;
    await plane.request('POST', path, { metadata: { name: coordinatorAccount.name } });
    coordinator = await plane.kubeconfigFor({ serviceAccount: coordinatorAccount });
  });
  afterAll(() => plane?.stop());

  /** Its findings, by check. */
  async function examine(kubeconfig: string, ...args: readonly string[]): Promise<Map<string, Finding[]>> {
    const { stdout, stderr } = await runProgram(
      ['doctor', '-o', 'json', '--kubeconfig', kubeconfig, ...args],
      {},
    );
    expect(stderr).toBe('');
    const { findings } = JSON.parse(stdout) as { findings: readonly (Finding & { check: string })[] };
    return Map.groupBy(findings, ({ check }) => check);
  }

  async function grant(values: object): Promise<void> {
    const [helm, kubectl] = await Promise.all([startHelm(), kubectlFor(plane.kubeconfig)]);
    const input = sortedYaml((await helm.render(values)).filter(({ kind }) => kind.includes('Role')));
    const { code, stderr } = await kubectl.run(['apply', '--server-side', '--filename', '-'], { input });
    expect(code, stderr).toBe(0);
    await Promise.all([helm.remove(), kubectl.remove()]);
  }

  test('with our own LeaseCandidates that the coordinator may not read', async () => {
    await installCandidateResource(plane);
    const found = await examine(coordinator);
    expect(found.get('APIServed')).toMatchObject([
      { severity: 'warning', advice: expect.stringContaining('Use credentials that may list leases') },
    ]);
    const [rights] = found.get('Permissions') ?? [];
    expect(rights?.what).toContain('list leasecandidates.coordinated-leader-election.dev');
    expect(rights?.advice).toContain('kubectl apply -f deploy/rbac.yaml');
  });

  test('with a closed kube-system, and what to do instead', async () => {
    await grant({ config: { lockNamespace: 'infra' } });
    const rights = async (...args: readonly string[]) =>
      (await examine(coordinator, ...args)).get('Permissions')?.[0];
    await eventually(
      async () => (await rights('--lock-namespace', 'infra'))?.severity === 'ok' || undefined,
      'nothing is missing where the lock is in infra',
    );
    expect(await rights()).toMatchObject({
      severity: 'warning',
      what: expect.stringMatching(/ may not: get leases\/leader-election-controller in kube-system, /),
      advice: expect.stringContaining('config.lockNamespace (--lock-namespace)'),
    });
  });

  test('with leader labels, only on request', async () => {
    const rights = async (...args: readonly string[]) =>
      (await examine(coordinator, '--lock-namespace', 'infra', ...args)).get('Permissions') ?? [];
    expect(await rights()).toMatchObject([{ severity: 'ok' }]);
    expect(await rights('--leader-label')).toMatchObject([
      { severity: 'ok' },
      {
        severity: 'warning',
        what: expect.stringMatching(/ may not: list pods, patch pods\.$/),
        advice: expect.stringContaining('--set config.leaderLabel=true'),
      },
    ]);
    await grant({ config: { lockNamespace: 'infra', leaderLabel: true } });
    await eventually(
      async () => (await rights('--leader-label')).length === 1 || undefined,
      'nothing is missing where the chart is installed with config.leaderLabel',
    );
  });

  test('with both groups served, which is fine except for a lock in another namespace', async () => {
    await plane.restartApiServer({ coordinatedLeaderElection: true });
    const found = await examine(plane.kubeconfig, '--lock-namespace', 'infra');
    expect(found.get('APIServed')).toMatchObject([
      { severity: 'ok', what: expect.stringContaining('the second by kubectl get lcand.') },
    ]);
    expect(found.get('CoordinatorLock')?.[0]).toMatchObject({
      severity: 'error',
      what: 'A lock in infra is refused: the API server serves its own LeaseCandidates.',
      advice: expect.stringContaining('Leave --lock-namespace out'),
    });
  });
});
