import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';

const V1BETA1 = 'coordination.k8s.io/v1beta1';

/** As much of a Lease as these tests look at. */
export interface Lease {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly resourceVersion: string;
  };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly preferredHolder?: string;
    readonly strategy?: string;
    readonly leaseDurationSeconds?: number;
    readonly leaseTransitions?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
}

/** The ServiceAccount that deploy/rbac.yaml is about. */
export const coordinatorAccount = { namespace: 'kube-system', name: 'coordinated-leader-election' } as const;

/** The Lease that is the coordinators' lock, the built-in's as well as ours. */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;

export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

export function leasePath({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return `${leasesPath(namespace)}/${name}`;
}

/** The Lease, undefined when there is none. */
export async function readLease(
  plane: CoordinationServer,
  lease: { readonly namespace: string; readonly name: string },
): Promise<Lease | undefined> {
  try {
    return await plane.request<Lease>('GET', leasePath(lease));
  } catch (error) {
    if (error instanceof Error && error.message.includes(': 404 ')) return undefined;
    throw error;
  }
}

export async function createNamespaces(
  plane: CoordinationServer,
  ...names: readonly string[]
): Promise<void> {
  await Promise.all(names.map((name) => plane.request('POST', '/api/v1/namespaces', { metadata: { name } })));
}

/** Creates a Lease by hand: its spec may be one that no client-go would write. */
export function createLease(
  plane: CoordinationServer,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  spec: Readonly<Record<string, unknown>>,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<Lease> {
  return plane.request('POST', leasesPath(namespace), { metadata: { ...metadata, name }, spec });
}

/** A metav1.MicroTime, as exact as client-go's. `agoMs` is how long before now. */
export function microTime(agoMs = 0): string {
  return formatMicroTime(BigInt(Math.floor((performance.timeOrigin + performance.now() - agoMs) * 1000)));
}

/** A LeaseCandidate to be, of either group and in any version of its API. */
export interface CandidateSpec {
  /** Default coordination.k8s.io/v1beta1. */
  readonly apiVersion?: CandidateApiVersion;
  /** Default `default`. */
  readonly namespace?: string;
  readonly lease: string;
  readonly name: string;
  /** Default `1.36.0`; where it is empty, none is written. */
  readonly binaryVersion?: string;
  /** Default: its binaryVersion; where it is empty, none is written. */
  readonly emulationVersion?: string;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string;
  /** What v1alpha1 has in place of a strategy; default: its strategy alone. */
  readonly preferredStrategies?: readonly string[];
  readonly finalizers?: readonly string[];
  /** How long before now it last renewed; default 0. */
  readonly renewedAgoMs?: number;
}

export function candidatesPath({ apiVersion = V1BETA1, namespace = 'default' }: Partial<CandidateSpec>) {
  return resourcePaths.candidates(apiVersion, namespace);
}

export function candidatePath(spec: Pick<CandidateSpec, 'apiVersion' | 'namespace' | 'name'>) {
  return `${candidatesPath(spec)}/${spec.name}`;
}

/**
 * Creates a LeaseCandidate that nobody stands behind: it answers no ping.
 * @throws Error with the API server's answer when it is refused.
 */
export async function createCandidate(plane: CoordinationServer, spec: CandidateSpec): Promise<void> {
  const {
    apiVersion = V1BETA1,
    lease,
    name,
    binaryVersion = '1.36.0',
    emulationVersion = binaryVersion,
  } = spec;
  const { strategy = 'OldestEmulationVersion', preferredStrategies = [strategy], finalizers = [] } = spec;
  await plane.request('POST', candidatesPath(spec), {
    apiVersion,
    kind: 'LeaseCandidate',
    metadata: { name, finalizers },
    spec: {
      leaseName: lease,
      ...(binaryVersion && { binaryVersion }),
      ...(emulationVersion && { emulationVersion }),
      renewTime: microTime(spec.renewedAgoMs),
      ...(apiVersion === 'coordination.k8s.io/v1alpha1' ? { preferredStrategies } : { strategy }),
    },
  });
}
