import { deployComponent, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseElectionsSlow';

/**
 * A user has set electionDuration to 20 s. Then the leader with the older version of a component exits, and the best
 * candidate, a pod of that version, hangs: pods with the newer version must wait for its answer.
 */
export async function leaseElectionsSlow(site: Site): Promise<void> {
  const { cluster } = site;
  const namespace = 'orders';
  const runbook = await site.runbook(ALERT);
  await site.configure('config.electionDuration=20s', 'config.leaseDuration=30s');
  await makeParticipantsNamespace(cluster, namespace);
  const older = { namespace, name: 'orders-older', lease: 'orders', version: '1.35.0', replicas: 2 };
  const orders = await deployComponent(cluster, older);
  const former = await orders.untilLed();
  await deployComponent(cluster, { namespace, name: 'orders', replicas: 1 });
  const [hung = ''] = (await orders.pods()).filter((pod) => pod !== former);
  orders.freeze(hung);
  await orders.untilQuiet(hung, 21_000);
  await orders.remove();
  await site.untilFiring(ALERT);

  await runbook.follow('helm get values', /electionDuration: 20s/);
  await runbook.follow('ACTIVE=', [
    /^cle_pings_unanswered_total [1-9]/m,
    /^cle_candidates\{state="Unresponsive"\} [12]$/m,
  ]);
  await runbook.follow('kubectl cle doctor', {
    code: 4,
    output: /orders\/orders-older-\S+: (?:each of them )?did not answer its ping/,
  });
  await runbook.act('helm upgrade', [/has been upgraded/, /successfully rolled out/]);
  await runbook.follow('kubectl get deployment', /--election-duration=5s/);
  await site.untilClear(ALERT);
}
