import { coordinatorAccount } from '../../../control-plane/cluster-objects.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorAbsent';
const { namespace, name } = coordinatorAccount;
const deployment = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
const ours = /leader-election-controller +coordinated-leader-election_/;

/** The coordinator is scaled to zero; then its Deployment is deleted. */
export async function leaseCoordinatorAbsent(site: Site): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);

  await plane.request('PATCH', deployment, { spec: { replicas: 0 } });
  await site.untilFiring(ALERT);
  await runbook.follow('kubectl cle doctor', /The coordinator built into kube-apiserver coordinates/);
  await runbook.follow('kubectl get deployments,pods', new RegExp(`deployment.apps/${name} +0/0`));
  await runbook.follow('kubectl logs', /^1\s.*\sdeployed\s.*Install complete/m);
  await runbook.act('kubectl scale', /scaled/);
  await runbook.follow('kubectl rollout status', /successfully rolled out/);
  await runbook.follow('kubectl get lease', ours);
  await site.untilClear(ALERT);

  await plane.request('DELETE', deployment, { propagationPolicy: 'Background' });
  await site.untilFiring(ALERT);
  await runbook.follow('kubectl get deployments,pods', /No resources found/);
  await runbook.act('helm upgrade', /has been upgraded/);
  await runbook.follow('kubectl rollout status', /successfully rolled out/);
  await runbook.follow('kubectl get lease', ours);
  await site.untilClear(ALERT);
}
