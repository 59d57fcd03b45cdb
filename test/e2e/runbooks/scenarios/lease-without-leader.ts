import { type Component, deployComponent, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseWithoutLeader';

/** All pods of a component hang; then the component is removed, and its candidates stay. */
export async function leaseWithoutLeader(site: Site): Promise<void> {
  await makeParticipantsNamespace(site.cluster, 'shop');
  const checkout = await deployComponent(site.cluster, { namespace: 'shop', name: 'checkout', replicas: 2 });
  await checkout.untilLed();
  await candidatesHang(site, checkout);
  await candidatesAreLeftBehind(site, checkout);
}

async function candidatesHang(site: Site, checkout: Component): Promise<void> {
  const runbook = await site.runbook(ALERT);
  checkout.freeze(...(await checkout.pods()));
  await site.untilFiring(ALERT);

  await runbook.follow(
    'kubectl cle status --all-namespaces',
    /^shop +checkout +\S+ \(expired\) .* NoLiveCandidates /m,
  );
  await runbook.follow('kubectl cle explain', [
    /^Reason: +NoLiveCandidates$/m,
    /^Coordinator: +coordinated-leader-election_/m,
    /^ +checkout-\S+ .* Unresponsive /m,
  ]);
  await runbook.follow('kubectl describe lease', [/Normal +LeaderElected/, /Warning +NoLiveCandidates/]);
  await runbook.follow('kubectl get "$COMPONENT"', /^checkout +2\/2 /m);
  await runbook.act('kubectl logs', /checkout-\S+\] leading$/m);
  await runbook.act('kubectl rollout restart', /successfully rolled out/);
  await runbook.follow('kubectl cle status --namespace', /^checkout +checkout-\S+ +(?!\(expired\))/m);
  await site.untilClear(ALERT);
}

async function candidatesAreLeftBehind(site: Site, checkout: Component): Promise<void> {
  const runbook = await site.runbook(ALERT);
  await checkout.untilLed();
  checkout.freeze(...(await checkout.pods()));
  await checkout.remove();
  await site.untilFiring(ALERT);

  await runbook.follow('kubectl cle explain', /^Reason: +NoLiveCandidates$/m);
  await runbook.follow('kubectl get "$COMPONENT"', /^$/);
  await runbook.act('xargs kubectl delete leasecandidates', /leasecandidate\S* "checkout-\S+" deleted/);
  await site.untilClear(ALERT);
}
