import { setTimeout as sleep } from 'node:timers/promises';
import type { Cast, Member } from './cast.ts';

/** Like most Leases: a few healthy programs of one version. */
const ORDINARY: readonly (readonly [lease: string, version: string, programs: number])[] = [
  ['argocd/argocd-application-controller', '3.4.2', 2],
  ['argocd/argocd-repo-server', '3.4.2', 2],
  ['cert-manager/cert-manager-cainjector', '1.21.0', 2],
  ['cert-manager/cert-manager-controller', '1.21.0', 3],
  ['external-dns/external-dns', '0.22.1', 2],
  ['flux-system/helm-controller', '1.7.0', 2],
  ['flux-system/kustomize-controller', '1.9.1', 2],
  ['flux-system/source-controller', '1.9.0', 2],
  ['ingress-nginx/ingress-nginx-leader', '1.19.3', 3],
  ['karpenter/karpenter', '1.14.0', 2],
  ['kube-system/cloud-controller-manager', '1.36.1', 3],
  ['kube-system/cluster-autoscaler', '1.36.0', 2],
  ['kube-system/snapshot-controller', '9.1.0', 2],
  ['kyverno/kyverno-background-controller', '1.19.0', 2],
  ['monitoring/kube-state-metrics', '2.21.0', 2],
  ['payments/ledger-reconciler', '5.2.0', 2],
  ['payments/settlement-batch', '2.17.4', 2],
  ['rook-ceph/rook-ceph-operator', '1.22.0', 2],
  ['velero/velero', '1.21.2', 2],
];

const SCHEDULER = 'kube-system/kube-scheduler';
/** The schedulers take long to stop, so that a picture can show the end of a leader. */
const SCHEDULER_STOPPING_MS = 5000;

/** Changes of the cluster after its start. */
export interface PlausibleCluster {
  /** A candidate that is better than the leader of kube-system/kube-scheduler appears. */
  preempt(): Promise<Member>;
}

/**
 * Fills a cast like a cluster in the middle of an upgrade: with a past failover, a conflict, and one Lease without
 * live candidates.
 */
export async function startPlausibleCluster(cast: Cast): Promise<PlausibleCluster> {
  for (const [lease, version, programs] of ORDINARY) {
    const name = lease.slice(lease.indexOf('/') + 1);
    for (let index = 0; index < programs; index++) {
      await cast.join(lease, `${name}-${suffix(`${lease}${index}`)} ${version}`);
    }
  }
  const together = async (lease: string, ...programs: readonly string[]) =>
    Promise.all(programs.map((program) => cast.join(lease, program)));

  await together(
    'kube-system/kube-controller-manager',
    'kcm-control-plane-1 1.36.3/1.36.0',
    'kcm-control-plane-2 1.36.3/1.35.0',
    'kcm-control-plane-3 1.35.8/1.35.0',
  );
  const joinScheduler = (program: string) => cast.join(SCHEDULER, program, undefined, SCHEDULER_STOPPING_MS);
  await Promise.all(
    ['scheduler-control-plane-1 1.36.3/1.36.0', 'scheduler-control-plane-2 1.36.3/1.35.0'].map(joinScheduler),
  );
  const provisioners = await together(
    'storage/csi-provisioner',
    'csi-provisioner-a 6.1.0',
    'csi-provisioner-b 6.2.0',
    'csi-provisioner-c 6.2.0',
  );
  const exporters = await together(
    'monitoring/thanos-compact',
    'thanos-compact-0 0.41.0',
    'thanos-compact-1 0.41.0',
  );
  await cast.join('payments/fraud-scoring', 'fraud-scoring-7c9d 4.0.0');
  await led(cast, 'storage/csi-provisioner', 'monitoring/thanos-compact', 'payments/fraud-scoring');
  // One leader crashes and is replaced; all programs of another Lease crash.
  provisioners[0]?.crash();
  for (const exporter of exporters) exporter.crash();
  await cast.join('payments/fraud-scoring', 'fraud-scoring-canary 4.0.0', 'example.com/NewestFirst');
  await cast.coordinator.waitForLog(
    ({ lease, reason, msg }) =>
      msg === 'Left a Lease as it is' &&
      lease === 'monitoring/thanos-compact' &&
      reason === 'NoLiveCandidates',
  );
  await cast.coordinator.waitForLog(
    ({ lease, reason }) => lease === 'payments/fraud-scoring' && reason === 'StrategyConflict',
  );
  return {
    preempt: () => joinScheduler('scheduler-control-plane-3 1.35.8/1.35.0'),
  };
}

async function led(cast: Cast, ...leases: readonly string[]): Promise<void> {
  await Promise.all(
    leases.map((key) =>
      cast.coordinator.waitForLog(({ lease, msg }) => msg === 'Changed a Lease' && lease === key),
    ),
  );
  // Until they know that they lead.
  await sleep(1500);
}

/** As Kubernetes names pods; deterministic. */
function suffix(seed: string): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  let hash = 2166136261;
  for (const letter of seed) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619) >>> 0;
  return Array.from(
    { length: 5 },
    (_, at) => letters[Math.floor(hash / letters.length ** at) % letters.length],
  ).join('');
}
