import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { readLease } from '../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { type AuditLog, prepareAuditLog } from './audit-log.ts';
import { eventually } from './coordinator.ts';
import { imagesWithScheduler, type PodCluster, startPodCluster } from './pod-cluster.ts';
import { openShell, type Shell } from './runbooks/shell.ts';

/** What the tutorials and how-to guides suppose: a cluster with two nodes, and somebody's shell in a clone. */
export interface OperationsSite {
  readonly cluster: PodCluster;
  readonly audit: AuditLog;
  readonly shell: Shell;
  stop(): Promise<void>;
}

const nodeNames = ['control-plane-1', 'control-plane-2'] as const;

// A node's administrator is root of this machine, and finds the node's manifests where they would be.
const ssh = (manifests: string) => `#!/bin/bash
node=$1; shift
sudo() { "$@"; }
eval "\${*//\\/etc\\/kubernetes\\/manifests/${manifests}/$node}"
`;

/** A cluster as providers have them: without the feature gate, with nodes that are nobody's but the provider's. */
export async function startAnySite(): Promise<OperationsSite> {
  const home = await mkdtemp(join(tmpdir(), 'operations-'));
  const audit = await prepareAuditLog();
  const cluster = await startPodCluster({
    plane: { coordinatedLeaderElection: false, extraApiServerArgs: audit.apiServerArgs },
    nodes: [{ nodeName: 'worker-1' }, { nodeName: 'worker-2' }],
  });
  return siteIn(cluster, audit, home);
}

/** A cluster with the feature gate, with two control-plane nodes; resolves when the built-in controller coordinates. */
export async function startGateSite(): Promise<OperationsSite> {
  const home = await mkdtemp(join(tmpdir(), 'operations-'));
  const audit = await prepareAuditLog();
  const manifests = join(home, 'manifests');
  for (const name of nodeNames) await mkdir(join(manifests, name), { recursive: true });
  const cluster = await startPodCluster({
    plane: { extraApiServerArgs: audit.apiServerArgs },
    nodes: await nodesWithManifests(manifests),
    hasScheduler: false,
  });
  for (const name of nodeNames) {
    await writeFile(
      join(manifests, name, 'kube-scheduler.yaml'),
      schedulerManifest(cluster.plane.kubeconfig),
    );
    // The first leads before there is a second one: which of them it is, is not left to chance.
    await eventually(() => leadsScheduling(cluster.plane, nodeNames[0]), `${nodeNames[0]} schedules`, 60_000);
    // Of candidates of the same second, the built-in controller prefers now the one and now the other.
    await sleep(1_100);
  }
  return siteIn(cluster, audit, home);
}

/** `home` is removed with the site. */
async function siteIn(cluster: PodCluster, audit: AuditLog, home: string): Promise<OperationsSite> {
  const programs = join(home, 'bin');
  await mkdir(programs);
  await writeFile(join(programs, 'ssh'), ssh(join(home, 'manifests')));
  await chmod(join(programs, 'ssh'), 0o755);
  // By itself: beside it there may be a kubectl of another version.
  await symlink(await whichNpm(), join(programs, 'npm'));
  const shell = await openShell(cluster.plane.kubeconfig, {
    folders: [programs, join(home, 'npm', 'bin'), dirname(process.execPath)],
    env: { npm_config_prefix: join(home, 'npm'), npm_config_update_notifier: 'false' },
  });
  return {
    cluster,
    audit,
    shell,
    async stop() {
      await shell.remove();
      await cluster.stop();
      await audit.remove();
      await rm(home, { recursive: true, force: true });
    },
  };
}

async function nodesWithManifests(manifests: string) {
  const findImage = await imagesWithScheduler();
  return nodeNames.map((nodeName) => ({ nodeName, findImage, staticPods: join(manifests, nodeName) }));
}

async function whichNpm(): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', 'command -v npm'])).stdout.trim();
}

/** Whether the kube-scheduler of a node has been elected and knows of it: it renews its Lease. */
async function leadsScheduling(plane: ControlPlane, nodeName: string): Promise<true | undefined> {
  const lease = await readLease(plane, { namespace: 'kube-system', name: 'kube-scheduler' });
  const { holderIdentity = '', leaseDurationSeconds } = lease?.spec ?? {};
  return (holderIdentity.startsWith(`${nodeName}_`) && leaseDurationSeconds === 15) || undefined;
}

/** As kubeadm writes it, but for what only containers need. */
function schedulerManifest(kubeconfig: string): string {
  return `apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
  namespace: kube-system
  labels:
    component: kube-scheduler
    tier: control-plane
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  containers:
    - name: kube-scheduler
      image: registry.k8s.io/kube-scheduler:v1.36.3
      command:
        - kube-scheduler
        - --kubeconfig=${kubeconfig}
        - --leader-elect=true
        - --feature-gates=CoordinatedLeaderElection=true
        - --emulated-version=1.35
        - --secure-port=0
`;
}
