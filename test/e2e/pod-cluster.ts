import { dirname } from 'node:path';
import { binary } from '../control-plane/binaries.ts';
import { coordinatorLease, readLease } from '../control-plane/cluster-objects.ts';
import {
  type ControlPlane,
  type ControlPlaneOptions,
  startControlPlane,
} from '../control-plane/control-plane.ts';
import type { ElectingComponent } from '../control-plane/electing-component.ts';
import { eventually } from './coordinator.ts';
import type { Image } from './process-kubelet/container-process.ts';
import {
  ourImage,
  type ProcessKubelet,
  type ProcessKubeletOptions,
  startProcessKubelet,
} from './process-kubelet.ts';

/** A cluster that runs pods: a real control plane with real controllers and a real scheduler, and process kubelets. */
export interface PodCluster {
  readonly plane: ControlPlane;
  /** A candidate for its Lease, led by the active coordinator; without the feature gate, with a plain elector. */
  readonly controllerManager: ElectingComponent;
  readonly kubelets: readonly ProcessKubelet[];
  stop(): Promise<void>;
}

export interface PodClusterOptions {
  readonly plane?: ControlPlaneOptions;
  /** Default: one. */
  readonly nodes?: readonly ProcessKubeletOptions[];
  /** False if a node's static pods contain the schedulers; default true. */
  readonly hasScheduler?: boolean;
}

/** The controllers that pods, Services and releases of Helm need in a kube-controller-manager. */
const controllers = [
  'deployment-controller',
  'disruption-controller',
  // The resources that the API server's own proxy uses.
  'endpoints-controller',
  'endpointslice-controller',
  'garbage-collector-controller',
  'namespace-controller',
  'node-lifecycle-controller',
  'persistentvolume-binder-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'root-ca-certificate-publisher-controller',
  'serviceaccount-controller',
];

/**
 * Either exits when it cannot renew, and is not restarted: a restart of the API server takes long on a busy machine.
 */
const patience = { leaseDuration: '90s', renewDeadline: '60s' } as const;

const controllersLease = { namespace: 'kube-system', name: 'kube-controller-manager' } as const;

/**
 * Starts everything, and waits until the controller built into the API server coordinates. Pods are scheduled, and
 * controllers act, as soon as that controller, or its successor, has elected their leaders. Without the feature gate,
 * they use plain election.
 */
export async function startPodCluster({
  plane: planeOptions,
  nodes = [{}],
  hasScheduler = true,
}: PodClusterOptions = {}): Promise<PodCluster> {
  const { coordinatedLeaderElection = true } = planeOptions ?? {};
  const plane = await startControlPlane({ ...planeOptions, admitsServiceAccounts: true });
  const kubelets: ProcessKubelet[] = [];
  async function stop(): Promise<void> {
    await Promise.all(kubelets.map((kubelet) => kubelet.stop()));
    await plane.stop();
  }
  try {
    const extraArgs = [`--controllers=${controllers.join(',')}`, `--root-ca-file=${plane.caFile}`];
    const controllerManager = await plane.startControllerManager({
      name: 'controller-manager',
      coordinatedLeaderElection,
      ...patience,
      extraArgs,
    });
    if (hasScheduler)
      await plane.startScheduler({ name: 'scheduler', coordinatedLeaderElection, ...patience });
    for (const node of nodes) kubelets.push(await startProcessKubelet(plane, node));
    const awaited = coordinatedLeaderElection ? coordinatorLease : controllersLease;
    const isHeld = async () => (await readLease(plane, awaited))?.spec.holderIdentity;
    await eventually(isHeld, `somebody holds ${awaited.name}`);
    return { plane, controllerManager, kubelets, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** This project's image, and Kubernetes' own kube-scheduler's. */
export async function imagesWithScheduler(): Promise<(name: string) => Image | undefined> {
  const programs = dirname(await binary('kube-scheduler@1.36.3'));
  return (name) =>
    name === 'registry.k8s.io/kube-scheduler:v1.36.3' ? { entrypoint: [], programs } : ourImage(name);
}
