import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { binary } from '../control-plane/binaries.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { readLease } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { installChartRoles } from './chart-roles.ts';
import { type Coordinator, eventually, startCoordinator, untilActive } from './coordinator.ts';
import { type PodCluster, startPodCluster } from './pod-cluster.ts';
import { makeParticipantsNamespace } from './runbooks/deployed-component.ts';

/** With and without the annotation. */
const NAMESPACES = ['asked', 'unasked'] as const;
type Namespace = (typeof NAMESPACES)[number];

/** client-go's defaults, and those of OpenShift's operators. */
const TIMINGS = {
  quick: { leaseDuration: '15s', renewDeadline: '10s', retryPeriod: '2s' },
  patient: { leaseDuration: '137s', renewDeadline: '107s', retryPeriod: '26s' },
} as const;
type Name = keyof typeof TIMINGS;

/**
 * Exits at its first run. The kubelet restarts a container at once after its first crash, and after 10 s from then
 * on. If it runs again in the second of the last renewal, the status does not show which of the two runs has renewed.
 * The two runs begin in different seconds: the status has no shorter times.
 */
const endsOnce = 'if mkdir "$0/$HOSTNAME"; then sleep 1.1; exit 1; fi; exec "$@"';

/**
 * Deployments of client-go's plain elector, two replicas each. Their leaders are killed as soon as all of them lead.
 */
describe('a plain elector whose container has ended (rule 17)', () => {
  let cluster: PodCluster;
  let plane: ControlPlane;
  let coordinator: Coordinator;
  let folder: string;

  beforeAll(async () => {
    const path = await binary('candidate');
    folder = await mkdtemp(join(tmpdir(), 'plain-'));
    const image = { entrypoint: ['sh', '-c', endsOnce, folder, path], programs: dirname(path) };
    cluster = await startPodCluster({
      plane: { coordinatedLeaderElection: false },
      nodes: [{ findImage: (name) => (name === 'plain:1' ? image : undefined) }],
    });
    plane = cluster.plane;
    await installCandidateResource(plane);
    const kubeconfig = await installChartRoles(plane, { crashEvidence: { enabled: true } });
    coordinator = await startCoordinator(kubeconfig, ['--watch-pods']);
    await untilActive(coordinator, 60_000);
    for (const namespace of NAMESPACES) await makeParticipantsNamespace(cluster, namespace);
    await plane.request('PATCH', '/api/v1/namespaces/asked', {
      metadata: { annotations: { 'coordinated-leader-election.dev/crash-evidence': 'enabled' } },
    });
    for (const namespace of NAMESPACES)
      for (const name of Object.keys(TIMINGS) as Name[]) await deploy(namespace, name);
  }, 300_000);
  afterAll(async () => {
    await coordinator?.stop();
    await cluster?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  async function deploy(namespace: Namespace, name: Name): Promise<void> {
    const { leaseDuration, renewDeadline, retryPeriod } = TIMINGS[name];
    const args = [
      ...['-plain', `-namespace=${namespace}`, `-lease=${name}`, `-lease-duration=${leaseDuration}`],
      ...[`-renew-deadline=${renewDeadline}`, `-retry-period=${retryPeriod}`],
    ];
    const labels = { app: name };
    await plane.request('POST', `/apis/apps/v1/namespaces/${namespace}/deployments`, {
      metadata: { name },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'plain', image: 'plain:1', args }] } },
      },
    });
  }

  const holderOf = async (namespace: Namespace, name: Name): Promise<string> =>
    (await readLease(plane, { namespace, name }))?.spec.holderIdentity ?? '';

  /** Kills the leader. Resolves to the seconds until another identity holds the Lease. */
  async function crash(namespace: Namespace, name: Name): Promise<number> {
    const former = await eventually(
      async () => (await holderOf(namespace, name)) || undefined,
      `${namespace}/${name} is led`,
      60_000,
      250,
    );
    // Both replicas run, and the holder has renewed.
    await sleep(10_000);
    const renewTime = async () => (await readLease(plane, { namespace, name }))?.spec.renewTime;
    const before = await renewTime();
    const isRenewed = async () => (await renewTime()) !== before || undefined;
    await eventually(isRenewed, `${namespace}/${name} is renewed`, 60_000, 100);
    const [pod = ''] = former.split('_');
    const process = cluster.kubelets[0]?.processOf(namespace, pod);
    if (!process) throw new Error(`${pod} does not run`);
    // A renewal in the second of the end proves nothing before the container runs again.
    process.kill('SIGSTOP');
    await sleep(1200);
    process.kill('SIGKILL');
    const killedAt = performance.now();
    const isLed = async () => {
      const holder = await holderOf(namespace, name);
      return (holder !== '' && holder !== former) || undefined;
    };
    await eventually(isLed, `${namespace}/${name} is led again`, 240_000, 100);
    return (performance.now() - killedAt) / 1000;
  }

  test('costs a few seconds if its Namespace asks for evidence, and its whole Lease otherwise', async () => {
    const found = await Promise.all(
      NAMESPACES.flatMap((namespace) =>
        (Object.keys(TIMINGS) as Name[]).map(async (name) => [
          `${namespace} ${name}`,
          await crash(namespace, name),
        ]),
      ),
    );
    const seconds: Readonly<Record<string, number>> = Object.fromEntries(found);
    console.log(
      Object.entries(seconds)
        .map(([which, each]) => `${which}: ${each.toFixed(1)} s`)
        .join('\n'),
    );
    expect(seconds['asked quick']).toBeLessThan(12);
    expect(seconds['unasked quick']).toBeGreaterThan(12);
    // The next elector reads up to 57 s later.
    expect(seconds['asked patient']).toBeLessThan(75);
    expect(seconds['unasked patient']).toBeGreaterThan(100);
    const { body } = await coordinator.get('/metrics');
    expect(body).toMatch(/cle_decisions_total\{reason="HolderEnded"\} 2/);
  }, 360_000);
});
