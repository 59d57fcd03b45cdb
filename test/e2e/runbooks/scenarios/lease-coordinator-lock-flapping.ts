import { setTimeout as sleep } from 'node:timers/promises';
import { coordinatorAccount, coordinatorLease, readLease } from '../../../control-plane/cluster-objects.ts';
import type { ControlPlane } from '../../../control-plane/control-plane.ts';
import type { Site } from '../site.ts';

const ALERT = 'LeaseCoordinatorLockFlapping';
const { namespace, name } = coordinatorAccount;

/** Two tools write the Deployment in turns, each reverting the other's changes, and each write causes a rollout. */
export async function leaseCoordinatorLockFlapping(site: Site): Promise<void> {
  const runbook = await site.runbook(ALERT);
  const quarrel = startQuarrel(site.cluster.plane);
  try {
    await site.untilFiring(ALERT);
    await runbook.follow('kubectl get pods', new RegExp(`^${name}-\\S+ +1/1 +Running +0 +\\d+s$`, 'm'));
    await runbook.follow("grep 'coordinator lock'", /"state":"active".*"msg":"The coordinator lock changed"/);
    await runbook.follow('kubectl rollout history', [
      /^\d+ /m,
      /manager: gitops$/m,
      /manager: injector$/m,
      /operation: Update$/m,
    ]);
    await runbook.act('kubectl rollout pause', /paused/);
    await runbook.follow('kubectl get deployment "$RELEASE" --namespace "$NAMESPACE"\n', /[23]\/2/);
  } finally {
    await quarrel.stop();
  }
  await runbook.act('kubectl rollout resume', /successfully rolled out/);
  await site.untilClear(ALERT);
}

/** Runs until it is stopped; each tool waits until its write has moved the lock. */
function startQuarrel(plane: ControlPlane): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const path = `/apis/apps/v1/namespaces/${namespace}/deployments/${name}`;
  const holder = async () => (await readLease(plane, coordinatorLease))?.spec.holderIdentity;

  async function quarrel(): Promise<void> {
    for (let turn = 0; !signal.aborted; turn += 1) {
      const before = await holder();
      const writer = turn % 2 === 0 ? 'injector' : 'gitops';
      await plane.request('PATCH', `${path}?fieldManager=${writer}`, {
        // Each has its own field beside the one that both write.
        metadata: { annotations: { [`example.com/${writer}`]: 'was here' } },
        spec: { template: { metadata: { annotations: { 'example.com/written-by': writer } } } },
      });
      for (let looks = 0; looks < 60 && !signal.aborted; looks += 1) {
        if ((await holder()) !== before) break;
        await sleep(250, undefined, { signal }).catch(() => {});
      }
    }
  }

  const ended = quarrel();
  ended.catch(() => {}); // stop reports the error.
  return {
    stop() {
      stopping.abort();
      return ended;
    },
  };
}
