import { coordinatorAccount, coordinatorLease, readLease } from '../../../control-plane/cluster-objects.ts';
import { evict } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorWatchStale';
const { namespace, name } = coordinatorAccount;

/** A user reduces the role, and the effect only shows when a node is drained: the new pod may not read candidates. */
export async function leaseCoordinatorWatchStale(site: Site): Promise<void> {
  const { cluster } = site;
  const { plane } = cluster;
  const runbook = await site.runbook(ALERT);
  const role = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}-candidates`;
  await plane.request('PATCH', role, {
    rules: [
      { apiGroups: ['coordination.k8s.io'], resources: ['leasecandidates'], verbs: ['patch', 'delete'] },
    ],
  });
  await evict(cluster, namespace, await standby(site));
  await site.untilFiring(ALERT);

  await runbook.follow(
    'kubectl get pods --namespace "$NAMESPACE" --selector app.kubernetes.io/instance="$RELEASE"\n',
    [/^\S+ +1\/1 +Running /m, /^\S+ +0\/1 +Running /m],
  );
  // The other replica sees candidates until its open watch ends, 5 to 10 min after it began. That may have happened
  // by now.
  await runbook.follow('for POD in', [
    /staleness_seconds\{resource="leasecandidates"\} (?:1[5-9]\d|[2-9]\d\d)/,
    /staleness_seconds\{resource="leases"\} \d\d?(?:\.|$)/m,
  ]);
  await runbook.follow('kubectl logs', /403 .*is forbidden: User .* cannot list/);
  await runbook.follow('auth can-i list', { code: 1, output: /^no$/m });
  await runbook.follow('kubectl api-resources', /^leasecandidates /m);
  await runbook.act('helm upgrade', /has been upgraded/);
  await runbook.follow('kubectl rollout status', /successfully rolled out/);
  await site.untilClear(ALERT);
}

async function standby({ cluster: { plane } }: Site): Promise<string> {
  const { items } = await plane.request<{ items: { metadata: { name: string } }[] }>(
    'GET',
    `/api/v1/namespaces/${namespace}/pods?labelSelector=app.kubernetes.io/instance=${name}`,
  );
  const holder = (await readLease(plane, coordinatorLease))?.spec.holderIdentity ?? '';
  const found = items.find(({ metadata }) => !holder.includes(metadata.name));
  if (!found) throw new Error('there is no standby');
  return found.metadata.name;
}
