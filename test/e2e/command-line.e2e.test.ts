import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  coordinatorAccount,
  coordinatorLease,
  createCandidate,
  createNamespaces,
  leasePath,
  microTime,
} from '../control-plane/cluster-objects.ts';
import { type ControlPlane, startControlPlane } from '../control-plane/control-plane.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import type { LogLine } from '../support/log-line.ts';
import { type AuditedRequest, type AuditLog, auditedClient, prepareAuditLog } from './audit-log.ts';
import { type Coordinator, eventually, installRole, startCoordinator } from './coordinator.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'command-line-'));
});
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('the program on a cluster without another coordinator', () => {
  let plane: ControlPlane;
  let audit: AuditLog;
  beforeAll(async () => {
    audit = await prepareAuditLog();
    plane = await startControlPlane({ extraApiServerArgs: audit.apiServerArgs });
    // The lock is held by a process that does nothing, so that the next server's built-in coordinator stays idle.
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

  /** Starts it with its own token, which identifies it in the audit log. */
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

  const wouldAct =
    (lease: string) =>
    ({ msg, lease: about }: LogLine) =>
      msg === 'Would act' && about === lease;

  test('reads no other namespace than those given with --namespace', async () => {
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
  ])('reports the problem, is not ready and retries when $name', async ({ access, want }) => {
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
