import type { LeaseCandidateVersion } from '../../src/coordination/lease-candidate-version.ts';
import { createLease, createNamespaces, type Lease, leasePath } from '../control-plane/cluster-objects.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { type KubernetesVersion, leaseCandidateVersions } from '../control-plane/kubernetes-versions.ts';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type WatchedLease, type WatchedObjects, watchLeases } from '../control-plane/watched-objects.ts';
import type { LogLine } from '../support/log-line.ts';
import { startCoordinationSite } from './coordination-site.ts';
import { type Coordinator, startCoordinator, untilActive } from './coordinator.ts';

/** A control plane whose Leases our coordinator coordinates, and eyes on them. */
export interface CoordinatedCluster {
  readonly plane: CoordinationPlane;
  /** Of the coordinator's ServiceAccount. */
  readonly kubeconfig: string;
  readonly coordinator: Coordinator;
  readonly leases: WatchedObjects<WatchedLease>;
  readonly candidates: SimCandidates;
  createNamespace(name: string): Promise<void>;
  createLease(
    namespace: string,
    name: string,
    spec: Lease['spec'],
    metadata?: Readonly<Record<string, unknown>>,
  ): Promise<Lease>;
  /** Changes fields of a Lease, as somebody else than the coordinator. */
  patchLease(namespace: string, name: string, spec: Readonly<Record<string, unknown>>): Promise<Lease>;
  /** The Lease as the API server has it, byte for byte. */
  readLease(namespace: string, name: string): Promise<string>;
  /** What the coordinator's log told of a Lease that needs attention for `reason`. */
  troubles(namespace: string, name: string, reason: string): readonly LogLine[];
  /** Waits until the coordinator told so. */
  untilTrouble(namespace: string, name: string, reason: string, timeoutMs?: number): Promise<LogLine>;
  stop(): Promise<void>;
}

/** What is logged of every decision and of every write; any other line about a Lease is there to be read by somebody. */
const routine: ReadonlySet<string> = new Set(['Decided', 'Changed a Lease']);

/** Starts a server and a coordinator on it with more arguments of `run`; resolves when that is active. */
export async function startCoordinatedCluster(
  version: KubernetesVersion,
  args: readonly string[] = [],
): Promise<CoordinatedCluster> {
  const { plane, coordinatorKubeconfig: kubeconfig } = await startCoordinationSite(version);
  try {
    const coordinator = await startCoordinator(kubeconfig, args);
    const leases = await watchLeases(plane);
    const candidateVersion = leaseCandidateVersions[version][0] as LeaseCandidateVersion;
    const candidates = await startSimCandidates(plane, `coordination.k8s.io/${candidateVersion}`);
    await untilActive(coordinator, 90_000);
    return assemble(plane, kubeconfig, coordinator, leases, candidates);
  } catch (error) {
    await plane.stop();
    throw error;
  }
}

function assemble(
  plane: CoordinationPlane,
  kubeconfig: string,
  coordinator: Coordinator,
  leases: WatchedObjects<WatchedLease>,
  candidates: SimCandidates,
): CoordinatedCluster {
  const isTrouble = (namespace: string, name: string, reason: string) => (line: LogLine) =>
    line.lease === `${namespace}/${name}` && line.reason === reason && !routine.has(line.msg);
  return {
    plane,
    kubeconfig,
    coordinator,
    leases,
    candidates,
    createNamespace: (name) => createNamespaces(plane, name),
    createLease: (namespace, name, spec, metadata) => createLease(plane, { namespace, name }, spec, metadata),
    patchLease: (namespace, name, spec) => plane.request('PATCH', leasePath({ namespace, name }), { spec }),
    readLease: async (namespace, name) =>
      JSON.stringify(await plane.request('GET', leasePath({ namespace, name }))),
    troubles: (namespace, name, reason) => coordinator.log.filter(isTrouble(namespace, name, reason)),
    untilTrouble: (namespace, name, reason, timeoutMs = 60_000) =>
      coordinator.waitForLog(isTrouble(namespace, name, reason), timeoutMs),
    async stop() {
      leases.stop();
      candidates.stop();
      await coordinator.kill();
      await plane.stop();
    },
  };
}
