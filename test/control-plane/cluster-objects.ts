import type { CandidateApiVersion } from '../../src/coordination/candidate-sources.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { resourcePaths } from '../../src/coordination/resource-paths.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';

const V1BETA1 = 'coordination.k8s.io/v1beta1';

/** The fields of a Lease that these tests read. */
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

/** The ServiceAccount in deploy/rbac.yaml. */
export const coordinatorAccount = { namespace: 'kube-system', name: 'coordinated-leader-election' } as const;

/** The Lease of the coordinators' lock, shared with the built-in coordinator. */
export const coordinatorLease = { namespace: 'kube-system', name: 'leader-election-controller' } as const;

export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

export function leasePath({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return `${leasesPath(namespace)}/${name}`;
}

/** The Lease; undefined if there is none. */
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

/** Creates a Lease with any spec, even one that client-go would not write. */
export function createLease(
  plane: CoordinationServer,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  spec: Readonly<Record<string, unknown>>,
  metadata: Readonly<Record<string, unknown>> = {},
): Promise<Lease> {
  return plane.request('POST', leasesPath(namespace), { metadata: { ...metadata, name }, spec });
}

/** A metav1.MicroTime with microseconds, as client-go writes it. `agoMs`: how long before now. */
export function microTime(agoMs = 0): string {
  return formatMicroTime(BigInt(Math.floor((performance.timeOrigin + performance.now() - agoMs) * 1000)));
}

/** The fields of a new LeaseCandidate, of either group and in any API version. */
export interface CandidateSpec {
  /** Default coordination.k8s.io/v1beta1. */
  readonly apiVersion?: CandidateApiVersion;
  /** Default `default`. */
  readonly namespace?: string;
  readonly lease: string;
  readonly name: string;
  /** Default `1.36.0`; empty: none is written. */
  readonly binaryVersion?: string;
  /** Default: its binaryVersion; empty: none is written. */
  readonly emulationVersion?: string;
  /** Default `OldestEmulationVersion`. */
  readonly strategy?: string;
  /** The list in v1alpha1 instead of a strategy; default: only its strategy. */
  readonly preferredStrategies?: readonly string[];
  readonly finalizers?: readonly string[];
  /** Age of its last renewal; default 0. */
  readonly renewedAgoMs?: number;
}

export function candidatesPath({ apiVersion = V1BETA1, namespace = 'default' }: Partial<CandidateSpec>) {
  return resourcePaths.candidates(apiVersion, namespace);
}

export function candidatePath(spec: Pick<CandidateSpec, 'apiVersion' | 'namespace' | 'name'>) {
  return `${candidatesPath(spec)}/${spec.name}`;
}

/**
 * Creates a LeaseCandidate without a program: it answers no ping.
 * @throws Error with the API server's answer if it is refused
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
