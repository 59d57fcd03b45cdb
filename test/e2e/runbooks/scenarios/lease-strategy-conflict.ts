import { deployComponent, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseStrategyConflict';

/** A canary of the same version asks for another strategy than the rest of the component. */
export async function leaseStrategyConflict(site: Site): Promise<void> {
  const namespace = 'payments';
  const runbook = await site.runbook(ALERT);
  await makeParticipantsNamespace(site.cluster, namespace);
  const ledger = await deployComponent(site.cluster, { namespace, name: 'ledger', replicas: 1 });
  await ledger.untilLed();
  const canary = { namespace, name: 'ledger-canary', replicas: 1, lease: 'ledger' };
  await (await deployComponent(site.cluster, canary)).roll('example.com/Newest');
  await site.untilFiring(ALERT);

  await runbook.follow('kubectl get events', /^payments .* Warning +StrategyConflict +lease\/ledger /m);
  await runbook.follow('kubectl cle explain "$LEASE" --namespace "$LEASE_NAMESPACE"\n', [
    /The candidates do not agree on a strategy\./,
    /ledger-canary-\S+ asks for example\.com\/Newest/,
  ]);
  await runbook.follow('kubectl get leasecandidates', [
    /^ledger-canary-\S+ +ledger +1\.36\.0 +example\.com\/Newest$/m,
    /^ledger-\S+ +ledger +1\.36\.0 +OldestEmulationVersion$/m,
  ]);
  await runbook.follow('kubectl rollout history', /^2 /m);
  await runbook.act('kubectl rollout undo', /successfully rolled out/);
  await runbook.follow(`grep -A 2 '^Strategy'`, /^ +OldestEmulationVersion, asked for by/m);
  await site.untilClear(ALERT);
}
