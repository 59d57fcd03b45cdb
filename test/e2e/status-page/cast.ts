import {
  createSampleCandidate,
  type SampleCandidate,
  type SampleIdentity,
  type SampleTiming,
} from '../../../src/demo/sample-candidate.ts';
import { createClient } from '../../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../../src/kubernetes/kubeconfig.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { createNamespaces } from '../../control-plane/cluster-objects.ts';
import type { CoordinationServer } from '../../control-plane/coordination-plane.ts';
import { startEmbeddedPlane } from '../../control-plane/embedded-plane.ts';
import type { CoordinationSite } from '../coordination-site.ts';
import { type Coordinator, startCoordinator, untilActive } from '../coordinator.ts';

/** A program that takes part in an election. */
export type Member = Pick<SampleCandidate, 'crash' | 'leave' | 'identity'>;

/** A server, the coordinator with its page, and programs that take part in elections. */
export interface Cast extends CoordinationSite {
  readonly coordinator: Coordinator;
  /** Of the status page. */
  readonly url: string;
  /**
   * Starts a program: `cp-1 1.36.3/1.36.0` has version 1.36.3 and emulates 1.36.0. Resolves when its LeaseCandidate
   * exists.
   * @param stoppingMs the time that the program takes to stop when it leads and is asked to yield.
   */
  join(lease: string, program: string, strategy?: string, stoppingMs?: number): Promise<Member>;
  stop(): Promise<void>;
}

/** Faster than real ones, with about the same proportions. */
const TIMING: Omit<SampleTiming, 'stoppingMs'> = {
  leaseDurationMs: 4000,
  renewDeadlineMs: 2500,
  retryPeriodMs: 700,
};

/** Starts the coordinator at a server, by default an embedded one, without candidates. */
export async function startCast(site?: CoordinationSite): Promise<Cast> {
  const { plane, coordinatorKubeconfig } = site ?? (await startEmbeddedSite());
  const coordinator = await startPagedCoordinator(coordinatorKubeconfig);
  await untilActive(coordinator);
  const client = createClient({
    kubeConfig: loadKubeConfig({ kubeconfig: plane.kubeconfig, env: {} }),
    clock: systemClock,
    userAgent: 'cast',
    connections: 16,
  });
  const members: SampleCandidate[] = [];
  const namespaces = new Map<string, Promise<void>>();
  return {
    plane,
    coordinatorKubeconfig,
    coordinator,
    url: await pageUrl(coordinator),
    async join(lease, program, strategy = 'OldestEmulationVersion', stoppingMs = 0) {
      const [namespace = '', leaseName = ''] = lease.split('/');
      await ensureNamespace(plane, namespaces, namespace);
      const identity = { namespace, leaseName, strategy, ...identityOf(program) };
      const member = createSampleCandidate({
        client,
        clock: systemClock,
        identity,
        timing: { ...TIMING, stoppingMs },
        onLeading() {},
      });
      members.push(member);
      await member.start();
      return member;
    },
    async stop() {
      for (const member of members) member.crash();
      await client.close();
      await coordinator.stop();
      await plane.stop();
    },
  };
}

async function startEmbeddedSite(): Promise<CoordinationSite> {
  const plane = await startEmbeddedPlane({ keepsData: false });
  return { plane, coordinatorKubeconfig: plane.coordinatorKubeconfig };
}

/** A replica that serves the page. */
export function startPagedCoordinator(
  kubeconfig: string,
  args: readonly string[] = [],
): Promise<Coordinator> {
  const quick = ['--lease-duration=4s', '--election-duration=1s'];
  return startCoordinator(kubeconfig, ['--status-page', ...quick, ...args]);
}

/** The address of a replica's page. */
export async function pageUrl(coordinator: Coordinator): Promise<string> {
  const { listen } = await coordinator.waitForLog(({ msg }) => msg === 'Started');
  return `http://127.0.0.1:${(listen as { port: number }).port}/`;
}

async function ensureNamespace(
  plane: CoordinationServer,
  known: Map<string, Promise<void>>,
  namespace: string,
): Promise<void> {
  if (namespace === 'kube-system' || namespace === 'default') return;
  const created = known.get(namespace) ?? createNamespaces(plane, namespace);
  known.set(namespace, created);
  await created;
}

function identityOf(program: string): Pick<SampleIdentity, 'name' | 'binaryVersion' | 'emulationVersion'> {
  const [name = '', versions = ''] = program.split(' ');
  const [binaryVersion = '', emulationVersion = binaryVersion] = versions.split('/');
  return { name, binaryVersion, emulationVersion };
}
