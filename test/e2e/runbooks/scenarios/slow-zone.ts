import { deployComponent, makeParticipantsNamespace } from '../deployed-component.ts';
import type { Site } from '../site.ts';

/** Zone b becomes slow: one of the components with leaders there could lead from zone a, and the other could not. */
export async function slowZone(site: Site): Promise<void> {
  const { cluster } = site;
  const namespace = 'edge';
  const runbook = await site.runbook('slow-zone');
  await makeParticipantsNamespace(cluster, namespace);
  const deploy = (name: string) => deployComponent(cluster, { namespace, name, replicas: 1, zone: 'b' });
  const [gateway, reports] = await Promise.all([deploy('gateway'), deploy('reports')]);
  const [inZone, alone] = await Promise.all([gateway.untilLed(), reports.untilLed()]);
  const spare = { namespace, name: 'gateway-spare', lease: 'gateway', replicas: 1, zone: 'a' };
  const [elsewhere = ''] = await (await deployComponent(cluster, spare)).pods();

  await runbook.follow('kubectl get nodes', /^node-b +Ready /m);
  await runbook.follow('kubectl get leasecandidates', [
    new RegExp(`^edge +${inZone} +gateway `, 'm'),
    new RegExp(`^edge +${alone} +reports `, 'm'),
    /^(?!.*gateway-spare)/s,
  ]);
  await runbook.follow('kubectl get lease leader-election-controller', / coordinated-leader-election_/);
  await runbook.act('kubectl cordon', /^node\/node-b cordoned$/m);
  await runbook.act('kubectl cle drain', {
    code: 5,
    output: [
      /^2 candidates of 2 Leases drained, 2 of them leading\.$/m,
      new RegExp(`^edge/gateway has moved from ${inZone} to ${elsewhere}\\.$`, 'm'),
      new RegExp(`^edge/reports stays with ${alone}: there is no other candidate\\.$`, 'm'),
    ],
  });
  await runbook.follow('kubectl cle status', [
    new RegExp(`^edge +gateway +${elsewhere} .* 1 at -1000 until `, 'm'),
    new RegExp(`^edge +reports +${alone} .* 1 at -1000 until `, 'm'),
  ]);

  await runbook.act('kubectl rollout restart', /successfully rolled out/);
  await reports.untilLed(alone);
  await runbook.act('kubectl cle undrain', [
    /^node\/node-b uncordoned$/m,
    new RegExp(`^edge/${inZone} has its own priority again\\.$`, 'm'),
  ]);
}
