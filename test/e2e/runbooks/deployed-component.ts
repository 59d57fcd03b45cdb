import { dirname } from 'node:path';
import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { candidatePath, candidatesPath, readLease } from '../../control-plane/cluster-objects.ts';
import { eventually } from '../coordinator.ts';
import type { PodCluster } from '../pod-cluster.ts';
import type { Image } from '../process-kubelet/container-process.ts';
import { backdate } from './backdated.ts';

/** A Deployment of a component that elects its leader by a Lease. */
export interface Component {
  /** Waits until one of its pods leads, other than `former`, and no better one exists. Resolves to its name. */
  untilLed(former?: string): Promise<string>;
  /** Its pods that are not being deleted. */
  pods(): Promise<readonly string[]>;
  /** Suspends pods: they do not react any more, not even to SIGTERM. */
  freeze(...pods: readonly string[]): void;
  /** Kills the program of a pod without a warning. */
  kill(pod: string): void;
  /** Waits until a pod's candidate has been silent for so long that it is pinged before an election. */
  untilQuiet(pod: string, forMs: number): Promise<void>;
  /** Makes all its candidates look as if they had existed together for this long. */
  ageTogether(byMs: number): Promise<void>;
  /** Rolls out another strategy. */
  roll(strategy: string): Promise<void>;
  /** Removes its Deployment. */
  remove(): Promise<void>;
}

interface CandidateTimes {
  readonly spec: { readonly renewTime?: string };
}

/** The label of a zone: on nodes and, with API server 1.35 or newer, on the pods that are bound to them. */
export const zoneLabel = 'topology.kubernetes.io/zone';

const zoneVariable = {
  name: 'ZONE',
  valueFrom: { fieldRef: { fieldPath: `metadata.labels['${zoneLabel}']` } },
};

function preferenceFor(zone: string): object {
  const preference = { matchExpressions: [{ key: zoneLabel, operator: 'In', values: [zone] }] };
  return {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference }] },
  };
}

/** The options of a component. */
export interface ComponentOptions {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** Its Lease; default: its own name. */
  readonly lease?: string;
  /** Its binary version and its emulation version; default 1.36.0. */
  readonly version?: string;
  /** The preferred zone of its pods. Their candidates have the label of their zone. */
  readonly zone?: string;
}

const program = new URL('component.ts', import.meta.url).pathname;

/** The content of a component's image. */
export function componentImage(name: string): Image | undefined {
  if (name !== 'component:1') return undefined;
  return { entrypoint: [process.execPath, program], programs: dirname(process.execPath) };
}

/**
 * Deploys a component, in a namespace of {@link makeParticipantsNamespace}. Resolves when all its pods are
 * candidates.
 */
export async function deployComponent(
  { plane, kubelets }: PodCluster,
  { namespace, name, replicas, lease = name, version = '1.36.0', zone }: ComponentOptions,
): Promise<Component> {
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const labels = { app: name };

  function podSpec(strategy: string): object {
    const env = [
      { name: 'LEASE', value: lease },
      { name: 'VERSION', value: version },
      { name: 'STRATEGY', value: strategy },
      { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      ...(zone === undefined ? [] : [zoneVariable]),
    ];
    return {
      ...(zone !== undefined && { affinity: preferenceFor(zone) }),
      terminationGracePeriodSeconds: 2,
      containers: [{ name: 'component', image: 'component:1', env }],
    };
  }

  await plane.request('POST', deployments, {
    metadata: { name },
    spec: {
      replicas: 1,
      minReadySeconds: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: podSpec('OldestEmulationVersion') },
    },
  });

  async function pods(): Promise<readonly string[]> {
    const { items } = await plane.request<{ items: { metadata: Record<string, string> }[] }>(
      'GET',
      `/api/v1/namespaces/${namespace}/pods?labelSelector=app=${name}`,
    );
    return items.flatMap(({ metadata }) =>
      metadata['deletionTimestamp'] === undefined ? (metadata['name'] ?? []) : [],
    );
  }

  async function areCandidates(count: number): Promise<true | undefined> {
    const path = candidatesPath({ namespace });
    const { items } = await plane.request<{ items: { metadata: { name: string } }[] }>('GET', path);
    const names = items.map(({ metadata }) => metadata.name);
    const those = await pods();
    return (those.length === count && those.every((pod) => names.includes(pod))) || undefined;
  }

  async function scaleTo(count: number): Promise<void> {
    await plane.request('PATCH', `${deployments}/${name}`, { spec: { replicas: count } });
    await eventually(() => areCandidates(count), `${count} pods of ${name} are candidates`, 120_000, 250);
  }

  async function untilLed(former?: string): Promise<string> {
    const leader = async () => {
      const { spec = {} } = (await readLease(plane, { namespace, name: lease })) ?? {};
      const { holderIdentity = '', acquireTime, renewTime, preferredHolder } = spec;
      const isLed = holderIdentity !== former && renewTime !== acquireTime && !preferredHolder;
      return isLed && (await pods()).includes(holderIdentity) ? holderIdentity : undefined;
    };
    return eventually(leader, `a pod of ${name} leads ${namespace}/${lease}`, 120_000, 250);
  }

  function signal(pod: string, name: NodeJS.Signals): void {
    const process = kubelets.map((kubelet) => kubelet.processOf(namespace, pod)).find((one) => one);
    if (!process) throw new Error(`${pod} does not run`);
    process.kill(name);
  }

  await scaleTo(1);
  if (replicas > 1) {
    // For candidates of the same second, the name decides: the first must be the oldest, so that it stays the best.
    await untilLed();
    await scaleTo(replicas);
  }

  return {
    pods,
    untilLed,
    freeze(...frozen) {
      for (const pod of frozen) signal(pod, 'SIGSTOP');
    },
    kill: (pod) => signal(pod, 'SIGKILL'),
    async untilQuiet(pod, forMs) {
      const path = candidatePath({ namespace, name: pod });
      const isQuiet = async () => {
        const { spec } = await plane.request<{ spec: { renewTime: string } }>('GET', path);
        return Date.now() - Date.parse(spec.renewTime) > forMs || undefined;
      };
      await eventually(isQuiet, `${pod} has not renewed for ${forMs} ms`, 2 * forMs + 60_000, 500);
    },
    async ageTogether(byMs) {
      const candidates = (await pods()).map((name) => ({ namespace, name }));
      for (const { name } of candidates) await backdate(plane, `leasecandidates/${namespace}/${name}`, byMs);
      // Without a ping, they renew only every five minutes.
      const spec = { pingTime: formatMicroTime(systemClock.wallTime()) };
      await Promise.all(candidates.map((one) => plane.request('PATCH', candidatePath(one), { spec })));
      const haveAnswered = async () => {
        const paths = candidates.map(candidatePath);
        const those = await Promise.all(paths.map((path) => plane.request<CandidateTimes>('GET', path)));
        return those.every(({ spec: { renewTime = '' } }) => renewTime >= spec.pingTime) || undefined;
      };
      await eventually(haveAnswered, `candidates of ${name} have answered`, 60_000, 250);
    },
    async roll(strategy) {
      await plane.request('PATCH', `${deployments}/${name}`, {
        spec: { template: { spec: podSpec(strategy) } },
      });
    },
    async remove() {
      await plane.request('DELETE', `${deployments}/${name}`, { propagationPolicy: 'Background' });
    },
  };
}

/** Deletes a pod, like a drain of its node. */
export async function evict({ plane }: PodCluster, namespace: string, pod: string): Promise<void> {
  await plane.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${pod}`);
}

/** Creates a namespace whose pods may take part in elections. */
export async function makeParticipantsNamespace({ plane }: PodCluster, namespace: string): Promise<void> {
  await plane.request('POST', '/api/v1/namespaces', { metadata: { name: namespace } });
  const group = '/apis/rbac.authorization.k8s.io/v1';
  const metadata = { name: 'participant' };
  await plane.request('POST', `${group}/namespaces/${namespace}/roles`, {
    metadata,
    rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases', 'leasecandidates'], verbs: ['*'] }],
  });
  await plane.request('POST', `${group}/namespaces/${namespace}/rolebindings`, {
    metadata,
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'participant' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'default' }],
  });
}
