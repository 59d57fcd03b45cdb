import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseCandidateVersion } from '../../src/kubernetes/discovery.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';

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
  plane: ControlPlane,
  lease: { readonly namespace: string; readonly name: string },
): Promise<Lease | undefined> {
  try {
    return await plane.request<Lease>('GET', leasePath(lease));
  } catch (error) {
    if (error instanceof Error && error.message.includes(': 404 ')) return undefined;
    throw error;
  }
}

export async function createNamespaces(plane: ControlPlane, ...names: readonly string[]): Promise<void> {
  await Promise.all(names.map((name) => plane.request('POST', '/api/v1/namespaces', { metadata: { name } })));
}

/** A metav1.MicroTime: exactly six decimals. `agoMs` is how long before now. */
export function microTime(agoMs = 0): string {
  return new Date(Date.now() - agoMs).toISOString().replace('Z', '000Z');
}

/** A LeaseCandidate to be, in any version of its API. */
export interface CandidateSpec {
  /** Default v1beta1. */
  readonly version?: LeaseCandidateVersion;
  /** Default `default`. */
  readonly namespace?: string;
  readonly lease: string;
  readonly name: string;
  /** Default `1.36.0`. */
  readonly binaryVersion?: string;
  /** Default: its binaryVersion. */
  readonly emulationVersion?: string;
  /** How long before now it last renewed; default 0. */
  readonly renewedAgoMs?: number;
}

interface CandidateTimes {
  readonly spec: { readonly pingTime?: string; readonly renewTime?: string };
}

export function candidatesPath({ version = 'v1beta1', namespace = 'default' }: Partial<CandidateSpec>) {
  return `/apis/coordination.k8s.io/${version}/namespaces/${namespace}/leasecandidates`;
}

/** Creates a LeaseCandidate that nobody stands behind: it answers no ping. */
export async function createCandidate(plane: ControlPlane, spec: CandidateSpec): Promise<void> {
  const { version = 'v1beta1', lease, name, binaryVersion = '1.36.0' } = spec;
  const strategy = 'OldestEmulationVersion';
  await plane.request('POST', candidatesPath(spec), {
    metadata: { name },
    spec: {
      leaseName: lease,
      binaryVersion,
      emulationVersion: spec.emulationVersion ?? binaryVersion,
      renewTime: microTime(spec.renewedAgoMs),
      ...(version === 'v1alpha1' ? { preferredStrategies: [strategy] } : { strategy }),
    },
  });
}

/** A LeaseCandidate in a version that no client-go of today speaks, and what answers its pings. */
export interface AnsweringCandidate {
  /** How many pings it has answered. */
  acks(): number;
  stop(): Promise<void>;
}

/** Creates a LeaseCandidate and answers its pings as client-go's candidate does: renewTime = now on pingTime > renewTime. */
export async function startAnsweringCandidate(
  plane: ControlPlane,
  spec: CandidateSpec,
): Promise<AnsweringCandidate> {
  await createCandidate(plane, spec);
  const path = `${candidatesPath(spec)}/${spec.name}`;
  const stopping = new AbortController();
  let acks = 0;
  const answer = async () => {
    const { pingTime, renewTime = '' } = (await plane.request<CandidateTimes>('GET', path)).spec;
    // Both have six decimals and end in Z, so that their order as text is that of time.
    if (pingTime === undefined || pingTime <= renewTime) return;
    await plane.request('PATCH', path, { spec: { renewTime: microTime() } });
    acks += 1;
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      // A server that is just being restarted is asked again.
      await answer().catch(() => {});
      await sleep(100, undefined, { signal: stopping.signal }).catch(() => {});
    }
  })();
  return {
    acks: () => acks,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
