import { dirname } from 'node:path';
import { formatMicroTime } from '../../../src/coordination/micro-time.ts';
import { systemClock } from '../../../src/support/system-clock.ts';
import { candidatePath, candidatesPath, readLease } from '../../control-plane/cluster-objects.ts';
import { eventually } from '../coordinator.ts';
import type { PodCluster } from '../pod-cluster.ts';
import type { Image } from '../process-kubelet/container-process.ts';

/** A component that elects its leader by a Lease, as a Deployment. */
export interface Component {
  /** Waits until one of its pods leads, other than `former`, and nobody better; resolves to its name. */
  untilLed(former?: string): Promise<string>;
  /** Its pods that are there to stay. */
  pods(): Promise<readonly string[]>;
  /** Freezes pods: they go on running, and do nothing more, not even end when they are asked to. */
  freeze(...pods: readonly string[]): void;
  /** Waits until a pod's candidate has not renewed for so long that it is asked before it is elected. */
  untilQuiet(pod: string, forMs: number): Promise<void>;
  /** Waits until all its pods have been candidates together for so long, as far as their candidates tell. */
  untilTogether(forMs: number): Promise<void>;
  /** Rolls out another strategy. */
  roll(strategy: string): Promise<void>;
  /** Removes its Deployment. */
  remove(): Promise<void>;
}

interface CandidateTimes {
  readonly metadata: { readonly creationTimestamp: string };
  readonly spec: { readonly renewTime: string };
}

/** What a component is deployed with. */
export interface ComponentOptions {
  readonly namespace: string;
  readonly name: string;
  readonly replicas: number;
  /** The Lease that it wants; default its own name. */
  readonly lease?: string;
  /** Of its binary, and what that emulates; default 1.36.0. */
  readonly version?: string;
}

const program = new URL('component.ts', import.meta.url).pathname;

/** What the image of a component holds. */
export function componentImage(name: string): Image | undefined {
  if (name !== 'component:1') return undefined;
  return { entrypoint: [process.execPath, program], programs: dirname(process.execPath) };
}

/** Deploys a component, in a namespace of {@link makeParticipantsNamespace}; resolves once all its pods are candidates. */
export async function deployComponent(
  { plane, kubelets }: PodCluster,
  { namespace, name, replicas, lease = name, version = '1.36.0' }: ComponentOptions,
): Promise<Component> {
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const labels = { app: name };

  function podSpec(strategy: string): object {
    const env = [
      { name: 'LEASE', value: lease },
      { name: 'VERSION', value: version },
      { name: 'STRATEGY', value: strategy },
      { name: 'NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ];
    return {
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

  await scaleTo(1);
  if (replicas > 1) {
    // Of candidates of one second the name decides: the first is to be the oldest, so that it stays the best.
    await untilLed();
    await scaleTo(replicas);
  }

  return {
    pods,
    untilLed,
    freeze(...frozen) {
      for (const pod of frozen) {
        const process = kubelets.map((kubelet) => kubelet.processOf(namespace, pod)).find((one) => one);
        if (!process) throw new Error(`${pod} does not run`);
        process.kill('SIGSTOP');
      }
    },
    async untilQuiet(pod, forMs) {
      const path = candidatePath({ namespace, name: pod });
      const isQuiet = async () => {
        const { spec } = await plane.request<{ spec: { renewTime: string } }>('GET', path);
        return Date.now() - Date.parse(spec.renewTime) > forMs || undefined;
      };
      await eventually(isQuiet, `${pod} has not renewed for ${forMs} ms`, 2 * forMs + 60_000, 500);
    },
    async untilTogether(forMs) {
      const areTogether = async () => {
        const paths = (await pods()).map((pod) => candidatePath({ namespace, name: pod }));
        const those = await Promise.all(paths.map((path) => plane.request<CandidateTimes>('GET', path)));
        const since = Math.max(...those.map(({ metadata }) => Date.parse(metadata.creationTimestamp)));
        const until = Math.min(...those.map(({ spec }) => Date.parse(spec.renewTime)));
        if (until - since >= forMs) return true;
        if (Date.now() - since < forMs) return undefined;
        // Unasked they say only every five minutes that they are there.
        const spec = { pingTime: formatMicroTime(systemClock.wallTime()) };
        await Promise.all(paths.map((path) => plane.request('PATCH', path, { spec })));
        return undefined;
      };
      await eventually(areTogether, `pods of ${name} are there for ${forMs} ms`, forMs + 120_000, 1000);
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

/** Deletes a pod, as the drain of a node does. */
export async function evict({ plane }: PodCluster, namespace: string, pod: string): Promise<void> {
  await plane.request('DELETE', `/api/v1/namespaces/${namespace}/pods/${pod}`);
}

/** Makes a namespace whose pods may take part in elections. */
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
