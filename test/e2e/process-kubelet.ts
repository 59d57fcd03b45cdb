// A stand-in for a node, in front of a real control plane: pods that the real kube-scheduler binds to it run as processes
// of this machine, so that `helm install --wait`, `kubectl rollout status`, `kubectl logs`, `kubectl get --raw
// .../services/http:NAME:http/proxy/metrics`, `helm test` and upgrades do what they do in a cluster.
//
//     const cluster = await startPodCluster();        // etcd, kube-apiserver, controller manager, scheduler, one node
//     await helm(['install', ..., '--wait'], cluster.plane.kubeconfig);
//     await cluster.stop();
//
// What is real: everything but the node. Deployments, ReplicaSets, EndpointSlices, PodDisruptionBudgets, namespaces and
// garbage collection are the real kube-controller-manager's; ServiceAccount tokens are issued for each pod and found by it
// where in-cluster clients look. What is not:
// - An image is a program of this machine (`findImage`); an image that is not known is in ErrImagePull for ever.
// - All pods share this machine's network. Each has an address of its own, and an argument or a variable that says
//   0.0.0.0:PORT says PODADDRESS:PORT instead. One that says 127.0.0.1:PORT gets another loopback address for each pod: what
//   containers of a pod tell each other has to be named in both. There are no network policies.
// - There is no kube-proxy: a Service is found by its name, in /etc/hosts, at the address of a pod that was ready when the
//   pod was started, and so only on the port that the pods listen on. The API server's proxy works for pods and Services.
// - User, capabilities, limits and read-only root file systems are not enforced: test/e2e/image.e2e.test.ts is about these.
// - A claim to a volume is a folder that all its pods share, on whatever node.
// - `kubectl exec`, `attach` and `port-forward`, and probes other than by HTTP are not there.
// Needs root, for the addresses and a mount namespace for each container. It all ends with the test process.
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CoordinationPlane } from '../control-plane/coordination-plane.ts';
import { startReaper } from '../control-plane/reaper.ts';
import type { ServerProcess } from '../control-plane/server-process.ts';
import type { Image } from './process-kubelet/container-process.ts';
import { startLogServer } from './process-kubelet/log-server.ts';
import { nodeObject } from './process-kubelet/node.ts';
import type { Pod } from './process-kubelet/pod.ts';
import { openPodNetwork } from './process-kubelet/pod-network.ts';
import { type PodRun, runPod } from './process-kubelet/pod-run.ts';
import { syncStaticPods } from './process-kubelet/static-pods.ts';

/** A node whose pods are processes. */
export interface ProcessKubelet {
  readonly nodeName: string;
  /** The process of a pod's container, by default the first, undefined while it does not run: to freeze it, or to kill it. */
  processOf(namespace: string, pod: string, container?: string): ServerProcess | undefined;
  /** Kills all its pods' processes, and renews its node no longer. */
  stop(): Promise<void>;
}

/** What a node is made of. */
export interface ProcessKubeletOptions {
  /** Default `node-1`. */
  readonly nodeName?: string;
  /** Of the node, beside those that every node has. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
  /** What an image holds; undefined for one that cannot be had. Default {@link ourImage}. */
  readonly findImage?: (name: string) => Image | undefined;
  /** A folder with manifests of pods that run on this node, as `/etc/kubernetes/manifests` is one. */
  readonly staticPods?: string;
  /** How often it looks which containers have ended, in ms. A real kubelet does so every second. By default it knows at once. */
  readonly relistMs?: number;
}

const main = new URL('../../src/main.ts', import.meta.url).pathname;

/** Whatever repository and tag an image of this project's name has, it is this working tree. */
export function ourImage(name: string): Image | undefined {
  if (!/(?:^|\/)coordinated-leader-election(?:[:@]|$)/.test(name)) return undefined;
  return { entrypoint: [process.execPath, main], programs: dirname(process.execPath) };
}

const syncPeriodMs = 250;
const nodeLeaseSeconds = 40;

/** Registers a node, and runs the pods that are bound to it, until it is stopped. */
export async function startProcessKubelet(
  plane: CoordinationPlane,
  {
    nodeName = 'node-1',
    nodeLabels = {},
    findImage = ourImage,
    staticPods,
    relistMs,
  }: ProcessKubeletOptions = {},
): Promise<ProcessKubelet> {
  const network = await openPodNetwork();
  const reaper = startReaper(undefined);
  const pods = new Map<string, PodRun>();
  /** Those that are over: a list from just before would bring them back to life. */
  const past = new Set<string>();
  const names = new Map<string, PodRun>();
  const stopping = new AbortController();
  const containerOf = (namespace: string, pod: string, container: string) =>
    names.get(`${namespace}/${pod}`)?.containers.get(container);
  const logServer = await startLogServer(network.nodeAddress, containerOf);
  const site = { api: plane, nodeName, nodeAddress: network.nodeAddress, reaper, findImage, relistMs };

  async function sync(): Promise<void> {
    const path = `/api/v1/pods?fieldSelector=spec.nodeName=${nodeName}`;
    const { items } = await plane.request<{ items: readonly Pod[] }>('GET', path);
    if (staticPods !== undefined) await syncStaticPods(plane, nodeName, staticPods, items);
    const bound = new Map(items.map((pod) => [pod.metadata.uid, pod]));
    for (const [uid, run] of pods) run.update(bound.get(uid));
    for (const [uid, pod] of bound) {
      if (pods.has(uid) || past.has(uid)) continue;
      const directory = join(plane.directory, 'pods', uid);
      await mkdir(directory, { recursive: true });
      const claims = join(plane.directory, 'claims');
      const run = runPod(pod, { nodeName, podIp: network.nextAddress(), directory, claims }, site);
      const name = `${pod.metadata.namespace}/${pod.metadata.name}`;
      pods.set(uid, run);
      names.set(name, run);
      run.update(pod);
      void run.over.then(() => {
        pods.delete(uid);
        past.add(uid);
        if (names.get(name) === run) names.delete(name);
      });
    }
  }

  async function renewLease(): Promise<void> {
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: nodeName, leaseDurationSeconds: nodeLeaseSeconds, renewTime };
    await plane
      .request('PATCH', `${path}/${nodeName}`, { spec })
      .catch(() => plane.request('POST', path, { metadata: { name: nodeName }, spec }));
  }

  /** Goes on however often it fails: API servers are restarted and frozen in tests. */
  async function repeat(step: () => Promise<void>, everyMs: number): Promise<void> {
    while (!stopping.signal.aborted) {
      await step().catch(() => {});
      await sleep(everyMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {});
    }
  }

  const node = nodeObject(nodeName, nodeLabels, network.nodeAddress, logServer.port);
  await plane.request('POST', '/api/v1/nodes', node);
  await renewLease();
  const loops = [repeat(sync, syncPeriodMs), repeat(renewLease, (nodeLeaseSeconds * 1_000) / 4)];

  return {
    nodeName,
    processOf(namespace, pod, name) {
      const run = names.get(`${namespace}/${pod}`);
      const container = run?.containers.get(name ?? run.pod.spec.containers[0]?.name ?? '');
      return container?.process();
    },
    async stop() {
      stopping.abort();
      await Promise.all(loops);
      for (const run of pods.values()) run.update(undefined);
      await Promise.all([...pods.values()].map(({ over }) => over));
      await Promise.all([logServer.close(), reaper.end(), network.close()]);
    },
  };
}
