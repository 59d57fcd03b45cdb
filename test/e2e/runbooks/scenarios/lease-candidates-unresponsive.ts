import { deployComponent, evict, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCandidatesUnresponsive';

/** From then on two candidates are redundant. */
const TOGETHER_MS = 10 * 60_000;

/** One of two pods hangs. When the other one is drained, only its successor answers. */
export async function leaseCandidatesUnresponsive(site: Site): Promise<void> {
  const { cluster } = site;
  const namespace = 'warehouse';
  const runbook = await site.runbook(ALERT);
  await makeParticipantsNamespace(cluster, namespace);
  const stock = await deployComponent(cluster, { namespace, name: 'stock', replicas: 2 });
  const former = await stock.untilLed();
  await stock.ageTogether(TOGETHER_MS);
  const [hung = ''] = (await stock.pods()).filter((pod) => pod !== former);
  stock.freeze(hung);
  await stock.untilQuiet(hung, 6_000);
  await evict(cluster, namespace, former);
  const leader = await stock.untilLed(former);
  await site.untilFiring(ALERT);

  await runbook.follow(
    'kubectl cle status --all-namespaces',
    /^warehouse +stock .* 1 Live, 1 Unresponsive /m,
  );
  await runbook.follow('kubectl cle explain "$LEASE" --namespace "$LEASE_NAMESPACE"\n', [
    new RegExp(`^ +${hung} .* Unresponsive `, 'm'),
    new RegExp(`^ +${leader} .* Live, holder `, 'm'),
  ]);
  await runbook.follow('kubectl get pods', new RegExp(`^${hung} +1/1 +Running `, 'm'));
  await runbook.act('kubectl logs', new RegExp(`${leader}\\S*\\] leading$`, 'm'));
  await runbook.act('xargs kubectl delete pods', new RegExp(`^pod "${hung}" deleted`, 'm'));
  await runbook.follow(
    'kubectl cle status --namespace',
    / 1 Live, 1 Idle, 1 Unresponsive | 2 Live, 1 Unresponsive /,
  );
  await site.untilClear(ALERT);
  await stock.untilLed();

  await runbook.act('xargs kubectl delete leasecandidates', new RegExp(`"${hung}" deleted`));
  await runbook.follow('kubectl cle status --namespace', /^stock +(?!.*Unresponsive)/m);
}
