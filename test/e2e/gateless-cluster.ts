import type { TestContext } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { type EmbeddedPlane, startEmbeddedPlane } from '../control-plane/embedded-plane.ts';
import type { KubernetesVersion } from '../control-plane/kubernetes-versions.ts';
import { type SimCandidates, startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from './coordinator.ts';

const READY_WITHIN_MS = 120_000;

/** A cluster without the feature gate, with candidates of our own group. */
export interface GatelessCluster<Plane extends CoordinationPlane = ControlPlane> {
  readonly plane: Plane;
  /** For the coordinator's ServiceAccount. */
  readonly kubeconfig: string;
  readonly coordinator: Coordinator;
}

/** Starts one for the duration of a test. Resolves when the coordinator is active. */
export async function startGatelessCluster(
  version: KubernetesVersion,
  context: TestContext,
): Promise<GatelessCluster> {
  const plane = await startControlPlane({
    readyWithinMs: READY_WITHIN_MS,
    version,
    coordinatedLeaderElection: false,
  });
  context.onTestFinished(() => plane.stop());
  await installCandidateResource(plane);
  return coordinated(plane, await installRole(plane), context);
}

/** The same with the embedded server, `serve`, instead of a control plane. */
export async function startGatelessServe(context: TestContext): Promise<GatelessCluster<EmbeddedPlane>> {
  const plane = await startEmbeddedPlane({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  context.onTestFinished(() => plane.stop());
  return coordinated(plane, plane.coordinatorKubeconfig, context);
}

async function coordinated<Plane extends CoordinationPlane>(
  plane: Plane,
  kubeconfig: string,
  { onTestFinished }: TestContext,
): Promise<GatelessCluster<Plane>> {
  const coordinator = await startCoordinator(kubeconfig);
  onTestFinished(async () => {
    await coordinator.stop();
  });
  await untilActive(coordinator);
  return { plane, kubeconfig, coordinator };
}

/** Candidates of our own group, for the duration of a test. */
export async function startCustomCandidates(
  plane: CoordinationPlane,
  { onTestFinished }: TestContext,
): Promise<SimCandidates> {
  const candidates = await startSimCandidates(plane, CUSTOM_API_VERSION);
  onTestFinished(() => candidates.stop());
  return candidates;
}
