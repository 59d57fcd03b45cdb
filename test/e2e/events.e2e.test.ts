import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { candidatePath } from '../control-plane/cluster-objects.ts';
import { type CoordinatedCluster, startCoordinatedCluster } from './coordinated-cluster.ts';
import { eventually } from './coordinator.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';

const NAMESPACE = 'told';
const LEASE = 'web';

let cluster: CoordinatedCluster;
let kubectl: Kubectl;

beforeAll(async () => {
  cluster = await startCoordinatedCluster();
  kubectl = await kubectlFor(cluster.plane.kubeconfig);
  await cluster.createNamespace(NAMESPACE);
});
afterAll(async () => {
  await kubectl?.remove();
  await cluster?.stop();
});

/** The lines of `kubectl describe lease` below "Events:", with single spaces. */
async function described(): Promise<readonly string[]> {
  const { code, stdout, stderr } = await kubectl.run(['describe', 'lease', LEASE, '--namespace', NAMESPACE]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [, events = ''] = stdout.split(/^Events:/m);
  return events.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' '));
}

function untilDescribed(pattern: RegExp): Promise<string> {
  return eventually(
    async () => (await described()).find((line) => pattern.test(line)),
    `kubectl describe lease shows ${pattern}`,
  );
}

describe('kubectl describe lease', () => {
  test('shows the elected candidate and the reason', async () => {
    await cluster.candidates.start({ namespace: NAMESPACE, lease: LEASE, name: 'web-1' });
    await cluster.leases.waitFor(NAMESPACE, LEASE, (lease) => lease.spec.holderIdentity === 'web-1');
    const line = await untilDescribed(/LeaderElected/);
    expect(line).toMatch(
      /^Normal LeaderElected \S+ coordinated-leader-election(, \S+)? web-1 leads under OldestEmulationVersion: LeaseMissing$/,
    );
  });

  test('shows a strategy conflict and its end, counted up when it comes back', async () => {
    const rival = { namespace: NAMESPACE, lease: LEASE, name: 'web-2', strategy: 'example.com/other' };
    for (const counted of ['\\S+', '\\S+ \\(x2 over \\S+\\)']) {
      await cluster.candidates.start(rival);
      const disagree = 'The candidates disagree: OldestEmulationVersion, example.com/other';
      await untilDescribed(new RegExp(`^Warning StrategyConflict ${counted} \\S+ ${disagree}$`));
      await cluster.plane.request('DELETE', candidatePath(rival));
      await untilDescribed(new RegExp(`^Normal StrategyResolved ${counted} `));
    }
  });

  test('leaves the total number to the metrics', async () => {
    const { body } = await cluster.coordinator.get('/metrics');
    expect(body).toMatch(/^cle_events_total\{result="written"\} (?:[5-9]|\d\d)$/m);
    expect(body).toContain('cle_events_total{result="failed"} 0\n');
  });
});
