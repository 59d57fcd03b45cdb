import { createNamespaces } from '../control-plane/cluster-objects.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type WatchedLease, type WatchedObjects, watchLeases } from '../control-plane/watched-objects.ts';
import { startCoordinationSite } from './coordination-site.ts';
import { type Coordinator, startCoordinator, untilActive } from './coordinator.ts';

/** A control plane whose Leases our coordinator coordinates, with observers of them. */
export interface CoordinatedCluster {
  readonly plane: CoordinationPlane;
  /** For the coordinator's ServiceAccount. */
  readonly kubeconfig: string;
  readonly coordinator: Coordinator;
  readonly leases: WatchedObjects<WatchedLease>;
  readonly candidates: SimCandidates;
  createNamespace(name: string): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a server and a coordinator. Resolves when the coordinator is active. */
export async function startCoordinatedCluster(): Promise<CoordinatedCluster> {
  const { plane, coordinatorKubeconfig: kubeconfig } = await startCoordinationSite();
  try {
    const coordinator = await startCoordinator(kubeconfig);
    const leases = await watchLeases(plane);
    const candidates = await startSimCandidates(plane);
    await untilActive(coordinator, 90_000);
    return {
      plane,
      kubeconfig,
      coordinator,
      leases,
      candidates,
      createNamespace: (name) => createNamespaces(plane, name),
      async stop() {
        leases.stop();
        candidates.stop();
        await coordinator.kill();
        await plane.stop();
      },
    };
  } catch (error) {
    await plane.stop();
    throw error;
  }
}
