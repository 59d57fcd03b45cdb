import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  candidatesPath,
  coordinatorAccount,
  coordinatorLease,
  createCandidate,
  createNamespaces,
  type Lease,
  leasePath,
  leasesPath,
  microTime,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { LogLine } from '../support/log-line.ts';
import { type AuditedRequest, type AuditLog, auditedClient, isWrite, prepareAuditLog } from './audit-log.ts';
import { type Coordinator, eventually, installRole, startCoordinator } from './coordinator.ts';
import { runProgram } from './program-run.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'command-line-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('the program without a cluster that it could use', () => {
  const stray = { clusters: [], users: [], contexts: [{ name: 'here', context: { cluster: 'gone' } }] };

  test.concurrent.for([
    {
      name: 'no cluster anywhere',
      file: undefined,
      args: [],
      want: 'error: No cluster to talk to: give --kubeconfig FILE or set KUBECONFIG, or run in a pod',
    },
    {
      name: 'a kubeconfig that does not exist',
      file: undefined,
      args: ['--kubeconfig', 'FILE'],
      want: /^error: Cannot read the kubeconfig .*kubeconfig: ENOENT/,
    },
    {
      name: 'a kubeconfig that is no YAML',
      file: 'clusters: [',
      args: ['--kubeconfig', 'FILE'],
      want: /^error: The kubeconfig .*kubeconfig is not valid: /,
    },
    {
      name: 'an empty kubeconfig',
      file: '\n',
      args: ['--kubeconfig', 'FILE'],
      want: /^error: The kubeconfig .*kubeconfig is empty: give one that names a cluster/,
    },
    {
      name: 'a context that the kubeconfig does not have',
      file: JSON.stringify(stray),
      args: ['--kubeconfig', 'FILE', '--context', 'there'],
      want: /^error: .*kubeconfig has no context there \(it has: here\)/,
    },
    {
      name: 'a context that refers to a cluster that is missing',
      file: JSON.stringify(stray),
      args: ['--kubeconfig', 'FILE', '--context', 'here'],
      want: /^error: .*the context here refers to the cluster gone, which is missing/,
    },
  ])('ends with code 1 and says what is wrong: $name', async ({ name, file, args, want }, { expect }) => {
    const home = join(directory, name.replaceAll(' ', '-'));
    const path = `${home}.kubeconfig`;
    if (file !== undefined) await writeFile(path, file);
    const given = args.map((arg) => (arg === 'FILE' ? path : arg));
    const { code, stdout, stderr } = await runProgram(['run', '--listen', 'off', ...given], { HOME: home });
    expect(stderr).toMatch(want);
    // For a human: no stack.
    expect(stderr).not.toMatch(/^\s+at /m);
    expect(stdout).toBe('');
    expect(code).toBe(1);
  });
});

describe('the program on a cluster whose elections nobody else holds', () => {
  let plane: ControlPlane;
  let audit: AuditLog;
  beforeAll(async () => {
    audit = await prepareAuditLog();
    plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
    // Whoever holds the lock coordinates: held by somebody who does nothing, it keeps the next server's built-in idle.
    await eventually(
      () => plane.request('GET', leasePath(coordinatorLease)).catch(() => undefined),
      'the built-in has its lock',
    );
    await plane.request('PATCH', leasePath(coordinatorLease), {
      spec: { holderIdentity: 'somebody-idle', leaseDurationSeconds: 3600, renewTime: microTime() },
    });
    await plane.restartApiServer();
    await installRole(plane);
  });
  afterAll(async () => {
    await plane?.stop();
    await audit?.remove();
  });

  /** Starts it with a token of its own, by which the audit log knows it. */
  async function start(...args: readonly string[]): Promise<{
    readonly replica: Coordinator;
    readonly requests: () => Promise<readonly AuditedRequest[]>;
  }> {
    const kubeconfig = await plane.kubeconfigFor({ serviceAccount: coordinatorAccount });
    const client = await auditedClient(kubeconfig);
    const replica = await startCoordinator(kubeconfig, args);
    onTestFinished(() => replica.kill());
    await replica.waitForLog(({ msg }) => msg === 'Watching LeaseCandidates');
    return {
      replica,
      requests: async () => (await audit.requests()).filter((request) => request.client === client),
    };
  }

  /** Every Lease and LeaseCandidate with its resourceVersion, but for the Leases of API servers, which renew them. */
  async function versions(namespace: string): Promise<Record<string, string>> {
    const paths = [leasesPath(namespace), leasesPath('kube-system'), candidatesPath({ namespace })];
    const lists = await Promise.all(paths.map((path) => plane.request<{ items: Lease[] }>('GET', path)));
    return Object.fromEntries(
      lists.flatMap(({ items }, index) =>
        items
          .filter(({ metadata }) => !metadata.name.startsWith('apiserver-'))
          .map(({ metadata }) => [`${paths[index]}/${metadata.name}`, metadata.resourceVersion]),
      ),
    );
  }

  const wouldAct =
    (lease: string) =>
    ({ msg, lease: about }: LogLine) =>
      msg === 'Would act' && about === lease;

  test('decides and says so, but writes nothing and takes no lock, with --dry-run', async () => {
    await createNamespaces(plane, 'dry');
    const { replica, requests } = await start('--dry-run');
    const namespace = 'dry';
    await plane.request('POST', leasesPath(namespace), {
      metadata: { name: 'held' },
      spec: { holderIdentity: 'newer', leaseDurationSeconds: 3600, renewTime: microTime() },
    });
    await createCandidate(plane, { namespace, lease: 'held', name: 'newer' });
    await createCandidate(plane, { namespace, lease: 'held', name: 'older', emulationVersion: '1.35.0' });
    await createCandidate(plane, { namespace, lease: 'missing', name: 'fresh' });
    await createCandidate(plane, { namespace, lease: 'silent', name: 'stale', renewedAgoMs: 600_000 });
    const before = await versions(namespace);
    expect(Object.keys(before)).toHaveLength(6);

    const hasSettled = (line: LogLine) => line.reason !== 'FirstElectionSettling';
    expect(
      await replica.waitForLog((line) => wouldAct('dry/missing')(line) && hasSettled(line)),
    ).toMatchObject({ level: 'info', reason: 'LeaseMissing', holder: 'fresh', actions: ['CreateLease'] });
    await replica.waitForLog(
      (line) => wouldAct('dry/held')(line) && String(line['actions']).includes('PingCandidate older'),
    );
    expect(await replica.waitForLog(wouldAct('dry/silent'))).toMatchObject({
      reason: 'AwaitingAcks',
      actions: ['PingCandidate stale'],
    });
    const { status, body } = await replica.get('/readyz');
    expect(body).not.toContain('coordinator-lock');
    expect(status).toBe(200);
    expect(await replica.stop()).toBe(0);

    expect(await versions(namespace)).toEqual(before);
    const made = await requests();
    expect(made.map(({ verb }) => verb)).toContain('list');
    expect(made.filter(isWrite)).toEqual([]);
    // Not even a look at it.
    expect(made.filter(({ name }) => name === coordinatorLease.name)).toEqual([]);
  });

  test('looks at no other namespace than those given with --namespace', async () => {
    const namespaces = ['only-a', 'only-b', 'other'];
    await createNamespaces(plane, ...namespaces);
    const { replica, requests } = await start('--dry-run', '--namespace', 'only-a,only-b');
    for (const namespace of namespaces.toReversed()) {
      await createCandidate(plane, { namespace, lease: 'web', name: 'candidate' });
    }
    await replica.waitForLog(wouldAct('only-a/web'));
    await replica.waitForLog(wouldAct('only-b/web'));
    expect(replica.log.filter(({ lease }) => lease?.startsWith('other/'))).toEqual([]);
    const asked = (await requests()).filter(({ resource }) => resource !== '');
    expect(new Set(asked.map(({ namespace }) => namespace))).toEqual(new Set(['only-a', 'only-b']));
    expect(await replica.stop()).toBe(0);
  });

  test.for([
    {
      name: 'its token is wrong',
      access: () => plane.kubeconfigFor({ token: 'wrong' }),
      want: /was answered 401 Unauthorized/,
    },
    {
      name: 'nothing listens at the address of the API server',
      access: async () => {
        const [port] = await freePorts(1);
        const ca = await readFile(plane.caFile, 'utf8');
        const access = { url: `https://127.0.0.1:${port}`, ca, token: 'any' };
        return writeKubeconfig(join(directory, 'nobody.kubeconfig'), access);
      },
      want: /ECONNREFUSED/,
    },
  ])('says what is wrong, is not ready and goes on trying when $name', async ({ access, want }) => {
    const replica = await startCoordinator(await access());
    onTestFinished(() => replica.kill());
    const complains = (about: string) =>
      replica.waitForLog(({ level, msg, ['err']: error }) => {
        const { message = '' } = (error ?? {}) as { readonly message?: string };
        return ['warn', 'error'].includes(level) && msg === about && want.test(message);
      });
    await complains('Watching failed');
    await complains('Could not ask the API server what it serves');
    await complains('A call about the coordinator lock failed');
    const { status, body } = await replica.get('/readyz');
    expect(body).toContain('[-]leases-synced failed');
    expect(status).toBe(503);
    expect((await replica.get('/livez')).status).toBe(200);
    expect(await replica.stop()).toBe(0);
  });
});
