import { deployComponent, evict, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseElectionsSlow';

/** Somebody had elections wait for 20 s, and then a candidate hangs that would be the best. */
export async function leaseElectionsSlow(site: Site): Promise<void> {
  const { cluster } = site;
  const namespace = 'orders';
  const runbook = await site.runbook(ALERT);
  await site.configure('config.electionDuration=20s', 'config.leaseDuration=30s');
  await makeParticipantsNamespace(cluster, namespace);
  const orders = await deployComponent(cluster, { namespace, name: 'orders', replicas: 2 });
  const former = await orders.untilLed();
  const [hung = ''] = (await orders.pods()).filter((pod) => pod !== former);
  orders.freeze(hung);
  await orders.untilQuiet(hung, 21_000);
  await evict(cluster, namespace, former);
  await site.untilFiring(ALERT);

  await runbook.follow('helm get values', /electionDuration: 20s/);
  await runbook.follow('ACTIVE=', [
    /^cle_pings_unanswered_total [1-9]/m,
    /^cle_candidates\{state="Unresponsive"\} 1$/m,
  ]);
  await runbook.follow('kubectl cle doctor', {
    code: 4,
    output: /orders\/orders-\S+: did not answer its ping/,
  });
  await runbook.act('helm upgrade', [/has been upgraded/, /successfully rolled out/]);
  await runbook.follow('kubectl get deployment', /--election-duration=5s/);
  await site.untilClear(ALERT);
}
