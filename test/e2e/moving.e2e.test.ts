import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CUSTOM_API_VERSION } from '../../src/coordination/candidate-sources.ts';
import { installCandidateResource } from '../control-plane/candidate-resource.ts';
import { candidatePath } from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import type { Electors } from '../control-plane/electors.ts';
import { startSimCandidates } from '../control-plane/sim-candidate.ts';
import { type Coordinator, installRole, startCoordinator, untilActive } from './coordinator.ts';
import { type Kubectl, kubectlFor } from './kubectl.ts';
import { runProgram } from './program-run.ts';

const GROUP = 'coordinated-leader-election.dev';
const quick = { leaseDuration: '5s', renewDeadline: '3s', retryPeriod: '1s' } as const;

let plane: ControlPlane;
let coordinator: Coordinator;
let electors: Electors;
let kubectl: Kubectl;

beforeAll(async () => {
  plane = await startControlPlane();
  kubectl = await kubectlFor(plane.kubeconfig);
  coordinator = await startCoordinator(await installRole(plane));
  await untilActive(coordinator);
  electors = await plane.startElectors();
}, 120_000);

afterAll(async () => {
  await coordinator?.stop();
  await kubectl?.remove();
  await plane?.stop();
});

/** The program, run with the administrator's kubeconfig. */
function cle(...args: string[]) {
  return runProgram([...args, '--kubeconfig', plane.kubeconfig], {}, 90_000);
}

/** The priority annotations of a candidate. */
async function prioritiesOf(name: string): Promise<Readonly<Record<string, string>>> {
  const { metadata } = await plane.request<{ metadata: { annotations?: Record<string, string> } }>(
    'GET',
    candidatePath({ name }),
  );
  const ours = Object.entries(metadata.annotations ?? {}).filter(([key]) => key.startsWith(GROUP));
  return Object.fromEntries(ours.map(([key, value]) => [key.replace(`${GROUP}/`, ''), value]));
}

async function startElector(lease: string, id: string, version = '1.36.0'): Promise<void> {
  const versions = { binaryVersion: version, emulationVersion: version };
  await electors.start({ id, lease, ...versions, ...quick });
  await electors.waitFor({ id, event: 'candidateCreated' });
}

describe('leaders of client-go’s own electors, on a real kube-apiserver', () => {
  test('go to the candidate of a transfer, which reports it', async () => {
    await startElector('web', 'web-a', '1.35.0');
    await electors.waitFor({ id: 'web-a', event: 'startedLeading' });
    await startElector('web', 'web-b');
    await startElector('web', 'web-c', '1.37.0');
    const { code, stdout, stderr } = await cle('transfer', 'web', '--to', 'web-c', '--for', '10m');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^web-c has the priority 1; waiting until it leads default\/web\.\nweb-c leads, after \d+s\.\n$/,
    );
    expect(electors.leading()).toEqual(['web-c']);
    expect(await prioritiesOf('web-c')).toMatchObject({ priority: '1' });
    const events = await kubectl.run(['get', 'events', '-o', 'custom-columns=M:.message', '--no-headers']);
    expect(events.stdout).toContain(
      'web-a is asked to yield to web-c under OldestEmulationVersion, for its higher priority',
    );
    const status = await cle('status');
    expect(status.stdout).toMatch(/PRIORITY.*\n.*1 at 1 until 20\d\d-/);
  });

  test('are moved off candidates that are drained by labels, and stay if there is no other', async () => {
    await startElector('solo', 'solo-a');
    await electors.waitFor({ id: 'solo-a', event: 'startedLeading' });
    const zone = 'topology.kubernetes.io/zone=b';
    await kubectl.run(['label', 'leasecandidate', 'web-c', 'solo-a', zone]);
    await kubectl.run(['annotate', 'leasecandidate', 'solo-a', `${GROUP}/priority=3`]);
    const mark = electors.events.length;
    const { code, stdout, stderr } = await cle('drain', '-A', '--selector', zone, '--for', '10m');
    expect(stderr).toBe('');
    expect(stdout).toContain('2 candidates of 2 Leases drained, 2 of them leading.\n');
    expect(stdout).toMatch(/^default\/web has moved from web-c to web-[ab]\.$/m);
    expect(stdout).toContain('default/solo stays with solo-a: there is no other candidate.\n');
    expect(code).toBe(5);
    expect(electors.leading()).not.toContain('web-c');
    expect(electors.leading()).toContain('solo-a');
    expect(electors.events.slice(mark)).not.toContainEqual(
      expect.objectContaining({ id: 'solo-a', event: 'stoppedLeading' }),
    );
    expect(await prioritiesOf('web-c')).toMatchObject({ priority: '-1000' });
  });

  test('are restored when it is undrained: priorities set by hand come back', async () => {
    const { code, stdout } = await cle('undrain', '-A', '--all');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n').sort()).toEqual([
      'default/solo-a has its own priority again.',
      'default/web-c has its own priority again.',
    ]);
    expect(await prioritiesOf('web-c')).toEqual({});
    expect(await prioritiesOf('solo-a')).toEqual({ priority: '3' });
    expect(await cle('undrain', '-A', '--all')).toMatchObject({
      code: 0,
      stdout: 'Nothing was set by drain or transfer there.\n',
    });
  });

  test('are moved off a node, by the candidate’s Pod', async () => {
    await startElector('db', 'db-a', '1.35.0');
    await electors.waitFor({ id: 'db-a', event: 'startedLeading' });
    await startElector('db', 'db-b');
    await plane.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
      metadata: { name: 'default' },
    });
    const pod = await plane.request<{ metadata: { uid: string } }>(
      'POST',
      '/api/v1/namespaces/default/pods',
      {
        metadata: { name: 'db-a' },
        spec: {
          nodeName: 'worker-3',
          automountServiceAccountToken: false,
          containers: [{ name: 'db', image: 'db' }],
        },
      },
    );
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'db-a', uid: pod.metadata.uid };
    await plane.request('PATCH', candidatePath({ name: 'db-a' }), { metadata: { ownerReferences: [owner] } });
    const { code, stdout } = await cle('drain', '--node', 'worker-3', '-o', 'json');
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 0,
      candidates: [{ namespace: 'default', lease: 'db', name: 'db-a' }],
      until: expect.stringMatching(/Z$/),
      leases: [{ namespace: 'default', lease: 'db', from: 'db-a', to: 'db-b' }],
    });
    const nothing = await cle('drain', '--node', 'worker-4');
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('on node worker-4') });
  });
});

test('leaders of a server without the feature gate move, too: by a fence (rule 14)', async () => {
  const gateless = await startControlPlane({ coordinatedLeaderElection: false });
  onTestFinished(() => gateless.stop());
  await installCandidateResource(gateless);
  const deciding = await startCoordinator(await installRole(gateless));
  onTestFinished(async () => {
    await deciding.stop();
  });
  await untilActive(deciding);
  const programs = await gateless.startElectors();
  const candidates = await startSimCandidates(gateless, CUSTOM_API_VERSION);
  onTestFinished(() => candidates.stop());
  for (const name of ['first', 'second']) {
    await programs.start({ id: name, lease: 'web', mode: 'elector-only', ...quick });
    await candidates.start({ namespace: 'default', lease: 'web', name });
  }
  await programs.waitFor({ id: 'first', event: 'startedLeading' });
  const args = ['transfer', 'web', '--to', 'second', '--kubeconfig', gateless.kubeconfig];
  const { code, stdout, stderr } = await runProgram(args, {}, 90_000);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/second leads, after \d+s\.\n$/);
  expect(programs.leading()).toEqual(['second']);
}, 240_000);
