import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorWatchStale';

/**
 * The API server is restarted without the flags for its own API, as in an upgrade that drops them. It still serves
 * LeaseCandidates of our own group.
 */
export async function leaseCoordinatorApiOff(site: Site): Promise<void> {
  const { plane } = site.cluster;
  const runbook = await site.runbook(ALERT);
  await plane.restartApiServer({ coordinatedLeaderElection: false });
  await site.untilFiring(ALERT);

  await runbook.follow(
    'kubectl get pods --namespace "$NAMESPACE" --selector app.kubernetes.io/instance="$RELEASE"\n',
    /^\S+ +1\/1 +Running .*\n\S+ +1\/1 +Running /m,
  );
  await runbook.follow(
    'for POD in',
    /staleness_seconds\{resource="leasecandidates"\} (?:1[5-9]\d|[2-9]\d\d)/,
  );
  await runbook.follow(
    'kubectl logs',
    /coordination\.k8s\.io\/v1beta1.*LeaseCandidates are no longer served/,
  );
  await runbook.follow('kubectl api-resources', /^(?![\s\S]*leasecandidates)[\s\S]*\bleases\b/);
  // kubectl cannot change the flags of an API server.
  await plane.restartApiServer({ coordinatedLeaderElection: true });
  await runbook.follow('kubectl rollout status', /successfully rolled out/);
  await site.untilClear(ALERT);
}
