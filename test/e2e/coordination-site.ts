import { startControlPlane } from '../control-plane/control-plane.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { installRole } from './coordinator.ts';

/** A kube-apiserver, and a kubeconfig with exactly the permissions that the coordinator needs. */
export interface CoordinationSite {
  readonly plane: CoordinationPlane;
  readonly coordinatorKubeconfig: string;
}

export async function startCoordinationSite(): Promise<CoordinationSite> {
  const plane = await startControlPlane();
  return { plane, coordinatorKubeconfig: await installRole(plane) };
}
