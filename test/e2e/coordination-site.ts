import { startControlPlane } from '../control-plane/control-plane.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import {
  defaultVersion,
  type KubernetesVersion,
  leaseCandidateVersions,
} from '../control-plane/kubernetes-versions.ts';
import { installRole } from './coordinator.ts';

/** A server of the coordination API, and a kubeconfig with just the rights that the coordinator needs on it. */
export interface CoordinationSite {
  readonly plane: CoordinationPlane;
  readonly coordinatorKubeconfig: string;
}

/**
 * Starts a kube-apiserver of that version or, for the test project `embedded`, the embedded server with the LeaseCandidate
 * API of that version: the same tests have to pass on both.
 */
export async function startCoordinationSite(
  version: KubernetesVersion = defaultVersion,
): Promise<CoordinationSite> {
  if (process.env['CLE_E2E_SERVER'] === 'embedded') {
    const plane = await startEmbeddedPlane({ leaseCandidateVersions: leaseCandidateVersions[version] });
    return { plane, coordinatorKubeconfig: plane.coordinatorKubeconfig };
  }
  const plane = await startControlPlane({ version });
  return { plane, coordinatorKubeconfig: await installRole(plane) };
}
