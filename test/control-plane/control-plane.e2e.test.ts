import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { apiRequest } from './api-request.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts';
import type { KubernetesVersion } from './kubernetes-versions.ts';

// Long enough for building a kube-apiserver first.
const startTimeout = 900_000;
const testTimeout = 60_000;

/** The versions of the LeaseCandidate API in discovery. */
async function servedVersions(plane: ControlPlane): Promise<string[]> {
  const group = await plane.request<{ versions: { version: string }[] }>('GET', '/apis/coordination.k8s.io/');
  const served: string[] = [];
  for (const { version } of group.versions) {
    const path = `/apis/coordination.k8s.io/${version}`;
    const { resources } = await plane.request<{ resources: { name: string }[] }>('GET', path);
    if (resources.some(({ name }) => name === 'leasecandidates')) served.push(version);
  }
  return served;
}

interface Lease {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly holderIdentity?: string;
    readonly strategy?: string;
    readonly preferredHolder?: string;
  };
}

const leasePath = (namespace: string, name: string) =>
  `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;

const candidatePath = (name: string) =>
  `/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates/${name}`;

async function eventually<T>(ask: () => Promise<T | undefined>, timeoutMs = 30_000): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await sleep(100);
  }
  throw new Error(`still not so after ${timeoutMs} ms`);
}

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  // A zombie that waits for its new parent to collect it runs no more.
  return (
    existsSync(`/proc/${pid}/stat`) && readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] === 'Z'
  );
};

describe('the LeaseCandidate API of a control plane', () => {
  const bothVersions = ['coordination.k8s.io/v1beta1=true', 'coordination.k8s.io/v1alpha2=true'];
  const cases: { name: string; options: ControlPlaneOptions; wantServed: string[] }[] = [
    { name: 'is v1beta1 on 1.36', options: { version: '1.36.3' }, wantServed: ['v1beta1'] },
    { name: 'is v1beta1 on 1.33', options: { version: '1.33.13' }, wantServed: ['v1beta1'] },
    { name: 'is v1alpha2 on 1.32', options: { version: '1.32.13' }, wantServed: ['v1alpha2'] },
    { name: 'is v1alpha1 on 1.31', options: { version: '1.31.4' }, wantServed: ['v1alpha1'] },
    {
      name: 'can be v1alpha2 as well on 1.36',
      options: { version: '1.36.3', runtimeConfig: bothVersions },
      wantServed: ['v1beta1', 'v1alpha2'],
    },
    {
      name: 'can be v1alpha2 as well on 1.33',
      options: { version: '1.33.13', runtimeConfig: bothVersions },
      wantServed: ['v1beta1', 'v1alpha2'],
    },
    ...(['1.36.3', '1.33.13', '1.32.13', '1.31.4'] satisfies KubernetesVersion[]).map((version) => ({
      name: `is not there on ${version} with the gate off`,
      options: { version, coordinatedLeaderElection: false },
      wantServed: [],
    })),
  ];

  test.each(cases)('$name', { timeout: startTimeout }, async ({ options, wantServed }) => {
    const plane = await startControlPlane(options);
    try {
      const { gitVersion } = await plane.request<{ gitVersion: string }>('GET', '/version');
      expect(gitVersion).toBe(`v${options.version}`);
      expect((await servedVersions(plane)).sort()).toEqual([...wantServed].sort());
    } finally {
      await plane.stop();
    }
    expect(isGone(plane.apiServer.pid)).toBe(true);
    expect(isGone(plane.etcd.pid)).toBe(true);
    expect(existsSync(plane.directory)).toBe(false);
  });
});

describe('a control plane with the built-in coordinator', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await startControlPlane();
  }, startTimeout);
  afterAll(async () => {
    await plane?.stop();
  });

  test(
    'elects among real candidates, and again when the leader crashes',
    async () => {
      const electors = await plane.startElectors();
      await electors.start({ id: 'new', lease: 'web', binaryVersion: '1.36.0' });
      await electors.start({ id: 'old', lease: 'web', binaryVersion: '1.36.0', emulationVersion: '1.35.0' });
      const elected = await electors.waitFor({ event: 'startedLeading' });
      // Whoever comes first leads at first; the older one takes over when that one makes way for it.
      if (elected.id === 'new') await electors.waitFor({ id: 'old', event: 'startedLeading' });
      expect(electors.leading()).toEqual(['old']);

      await electors.start({ id: 'spare', lease: 'web' });
      const mark = electors.events.length;
      await electors.crash('old');
      await electors.waitFor({ id: 'old', event: 'ended' });
      const next = await electors.waitFor({ event: 'startedLeading' }, { since: mark, timeoutMs: 45_000 });
      expect(next.id).not.toBe('old');
      expect(electors.leading()).toEqual([next.id]);
      await electors.stop();
    },
    2 * testTimeout,
  );

  test(
    'lets a real elector release its Lease',
    async () => {
      // Granted by hand, and without a candidate: the coordinator would give the Lease back at once.
      const electors = await plane.startElectors();
      await plane.request('POST', '/apis/coordination.k8s.io/v1/namespaces/default/leases', {
        metadata: { name: 'released' },
        spec: {
          holderIdentity: 'holder',
          leaseDurationSeconds: 15,
          renewTime: new Date().toISOString().replace('Z', '000Z'),
        },
      });
      await electors.start({ id: 'holder', lease: 'released', mode: 'elector-only' });
      await electors.waitFor({ id: 'holder', event: 'startedLeading' });
      expect(electors.leading()).toEqual(['holder']);
      await electors.release('holder');
      await electors.waitFor({ id: 'holder', event: 'ended' });
      expect(electors.leading()).toEqual([]);
      const lease = await plane.request<Lease>('GET', leasePath('default', 'released'));
      expect(lease.spec.holderIdentity).toBe('');
      await electors.stop();
    },
    testTimeout,
  );

  test.each([
    { fate: 'stop', wantThere: true, wantEnded: true },
    { fate: 'keep', wantThere: true, wantEnded: false },
    { fate: 'delete', wantThere: false, wantEnded: true },
  ] as const)(
    'ends a candidate as it is told to: $fate',
    { timeout: testTimeout },
    async ({ fate, wantThere, wantEnded }) => {
      const electors = await plane.startElectors();
      const id = `to-${fate}`;
      await electors.start({ id, lease: id, mode: 'candidate-only' });
      await electors.waitFor({ id, event: 'candidateCreated' });
      await electors.release(id, fate);
      const end = electors.waitFor({ id, event: 'ended' }, { timeoutMs: wantEnded ? 10_000 : 500 });
      await (wantEnded ? end : expect(end).rejects.toThrow('no elector reported'));
      const answer = plane.request('GET', candidatePath(id)).then(() => 'there');
      await (wantThere ? expect(answer).resolves.toBe('there') : expect(answer).rejects.toThrow('404'));
      await electors.stop();
    },
  );

  test(
    'can keep an elector from renewing its Lease while its candidate goes on answering',
    async () => {
      const electors = await plane.startElectors();
      const timing = { leaseDuration: '5s', renewDeadline: '3s', retryPeriod: '1s' };
      await electors.start({ id: 'deaf', lease: 'paused', mode: 'elector-only', ...timing, restart: true });
      await electors.start({ id: 'answering', lease: 'paused', name: 'deaf', mode: 'candidate-only' });
      await electors.waitFor({ id: 'deaf', event: 'startedLeading' });
      await electors.pause('deaf', 'lease');
      const mark = electors.events.length;
      await electors.waitFor({ id: 'deaf', event: 'stoppedLeading' }, { since: mark });
      const pingTime = '2099-01-01T00:00:00.000000Z';
      await plane.request('PATCH', candidatePath('deaf'), { spec: { pingTime } });
      await electors.waitFor({ id: 'answering', event: 'candidateRenewed' }, { since: mark });
      await electors.resume('deaf', 'lease');
      await expect(electors.resume('deaf', 'lease')).rejects.toThrow('lease is not paused');
      await electors.stop();
    },
    testTimeout,
  );

  test(
    'elects the older of two kube-schedulers, and a kube-controller-manager',
    async () => {
      const scheduler = await plane.startScheduler({ name: 'scheduler-1.36' });
      const older = await plane.startScheduler({ name: 'scheduler-1.35', emulatedVersion: '1.35' });
      const controllerManager = await plane.startControllerManager({ name: 'controllers' });
      const identities = await Promise.all(
        [scheduler, older, controllerManager].map((each) => each.identity()),
      );
      expect(new Set(identities).size).toBe(3);
      const holderOf = async (name: string) =>
        (await plane.request<Lease>('GET', leasePath('kube-system', name)).catch(() => undefined))?.spec
          .holderIdentity;
      await eventually(
        async () => ((await holderOf('kube-scheduler')) === identities[1] ? true : undefined),
        45_000,
      );
      await eventually(async () =>
        (await holderOf('kube-controller-manager')) === identities[2] ? true : undefined,
      );
      older.kill('SIGKILL');
      expect(await older.exited).toEqual({ code: null, signal: 'SIGKILL' });
    },
    2 * testTimeout,
  );

  test(
    'issues kubeconfigs for ServiceAccounts, who may do what RBAC says',
    async () => {
      await plane.request('POST', '/api/v1/namespaces/default/serviceaccounts', {
        metadata: { name: 'reader' },
      });
      const path = await plane.kubeconfigFor({ serviceAccount: { namespace: 'default', name: 'reader' } });
      const token = (JSON.parse(readFileSync(path, 'utf8')) as { users: { user: { token: string } }[] })
        .users[0]?.user.token;
      const access = { url: plane.url, ca: readFileSync(plane.caFile, 'utf8'), token: token ?? '' };
      const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
      const refused = await apiRequest(access, 'GET', leases);
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('system:serviceaccount:default:reader');
      const nobody = { serviceAccount: { namespace: 'default', name: 'nobody' } };
      await expect(plane.kubeconfigFor(nobody)).rejects.toThrow('serviceaccounts \\"nobody\\" not found');
    },
    testTimeout,
  );

  test(
    'freezes and restarts its API server without losing anything',
    async () => {
      await plane.request('POST', '/api/v1/namespaces', { metadata: { name: 'lasting' } });
      plane.suspend();
      const answer = plane.request('GET', '/api/v1/namespaces/lasting').then(() => 'answered');
      expect(await Promise.race([answer, sleep(500, 'silent')])).toBe('silent');
      plane.resume();
      expect(await answer).toBe('answered');

      const { pid } = plane.apiServer;
      await plane.restartApiServer({ coordinatedLeaderElection: false });
      expect(plane.apiServer.pid).not.toBe(pid);
      await plane.request('GET', '/api/v1/namespaces/lasting');
      expect(await servedVersions(plane)).toEqual([]);
    },
    testTimeout,
  );
});

describe('real candidates', () => {
  test(
    'can have hundreds of them, all run by one process',
    async () => {
      // Not with others' candidates around: the built-in coordinator has one worker for all Leases.
      const plane = await startControlPlane();
      onTestFinished(() => plane.stop());
      const electors = await plane.startElectors();
      const leases = Array.from({ length: 100 }, (_, index) => `many-${index}`);
      // Of different versions: of equals created in one second the built-in coordinator prefers now one, now another.
      const versions = ['1.34.0', '1.35.0', '1.36.0'];
      await Promise.all(
        leases.flatMap((lease) =>
          versions.map((emulationVersion) =>
            electors.start({ id: `${lease}.${emulationVersion}`, lease, emulationVersion, restart: true }),
          ),
        ),
      );
      const leaders = () => new Set(electors.leading().map((id) => id.split('.')[0]));
      await eventually(async () => (leaders().size === leases.length ? true : undefined), 45_000);
      expect(electors.events.filter(({ event }) => event === 'candidateCreated')).toHaveLength(
        3 * leases.length,
      );
    },
    startTimeout,
  );
});

describe('a control plane whose process is killed', () => {
  test(
    'leaves no process and no file behind',
    async () => {
      const program = `
        import { startControlPlane } from ${JSON.stringify(join(import.meta.dirname, 'control-plane.ts'))};
        const plane = await startControlPlane();
        const scheduler = await plane.startScheduler({ name: 'scheduler' });
        const electors = await plane.startElectors();
        const pids = [plane.etcd.pid, plane.apiServer.pid, scheduler.pid, electors.pid];
        console.log(JSON.stringify({ directory: plane.directory, pids }));`;
      const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
      const { directory, pids } = JSON.parse(line) as { directory: string; pids: number[] };
      expect(pids.filter(isGone)).toEqual([]);
      child.kill('SIGKILL');
      await eventually(async () => (pids.every(isGone) && !existsSync(directory) ? true : undefined), 10_000);
    },
    startTimeout,
  );
});

describe('a control plane that cannot start', () => {
  test(
    'says which server failed, and the end of its log',
    async () => {
      const start = startControlPlane({ extraApiServerArgs: ['--no-such-flag'] });
      await expect(start).rejects.toThrow(
        /kube-apiserver ended .* before it was ready.*unknown flag: --no-such-flag/s,
      );
    },
    startTimeout,
  );
});
