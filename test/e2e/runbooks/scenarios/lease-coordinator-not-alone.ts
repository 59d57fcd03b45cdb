import { coordinatorLease } from '../../../control-plane/cluster-objects.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorNotAlone';

/** A second release is installed with a lock of its own, in a cluster whose API server has no LeaseCandidates of its own. */
export async function leaseCoordinatorNotAlone(site: Site): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);
  await plane.restartApiServer({ coordinatedLeaderElection: false });
  await site.install('second-election', 'default', 'config.lockNamespace=default');
  await site.untilFiring(ALERT);

  const { namespace, name } = coordinatorLease;
  await runbook.follow(
    'kubectl get leases --all-namespaces',
    new RegExp(`^default +${name} +coordinated-.*\\n${namespace} +${name} +coordinated-`, 'm'),
  );
  await runbook.follow('helm list --all-namespaces', /^second-election\s+default/m);
  await runbook.act('helm uninstall', /release "second-election" uninstalled/);
  await site.untilClear(ALERT);
  await plane.restartApiServer({ coordinatedLeaderElection: true });
}
