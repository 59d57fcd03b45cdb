import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { kubeconfigText } from '../../../src/apiserver/access/client-credentials.ts';
import { CUSTOM_API_VERSION } from '../../../src/coordination/candidate-sources.ts';
import { runParticipant } from '../../../src/processes/participant/participant-process.ts';
import { type ParticipateSettings, participateSettings } from '../../../src/settings/participate-settings.ts';
import { type GivenFlags, resolveSettings } from '../../../src/settings/settings-table.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../../embedded/embedded-cluster.ts';
import { SimHost } from '../../support/make-host.ts';

const pod = { POD_NAME: 'web-0', POD_UID: '12345678-9abc-4def-8123-456789abcdef' };
/** How long a start may take on a busy machine. */
const SOON = { timeout: 20_000 };
const candidatesPath = `/apis/${CUSTOM_API_VERSION}/namespaces/default/leasecandidates`;

interface Candidate {
  readonly metadata: { readonly name: string; readonly labels?: object; readonly ownerReferences?: object };
  readonly spec: object;
}

let cluster: EmbeddedCluster;
let folder: string;
let kubeconfig: string;
const hosts: SimHost[] = [];

beforeAll(async () => {
  cluster = await startEmbeddedCluster({ leaseCandidateVersions: [CUSTOM_API_VERSION] });
  folder = mkdtempSync(join(tmpdir(), 'participant-process-'));
  kubeconfig = writeKubeconfig('kubeconfig', cluster.url);
});
afterAll(async () => {
  await cluster.stop();
  rmSync(folder, { recursive: true });
});
afterEach(() => {
  for (const host of hosts.splice(0)) host.stop();
});

function writeKubeconfig(name: string, server: string): string {
  const file = join(folder, name);
  const ca = readFileSync(cluster.caFile, 'utf8');
  writeFileSync(file, kubeconfigText({ server, ca, token: cluster.adminToken }));
  return file;
}

function start(
  flags: GivenFlags<ParticipateSettings>,
  { command = [], env = {} }: { command?: readonly string[]; env?: Record<string, string> } = {},
) {
  const host = new SimHost({ env });
  hosts.push(host);
  const settings = resolveSettings(participateSettings, { kubeconfig, listen: '127.0.0.1:0', ...flags }, {});
  return { host, ended: runParticipant('web', command, settings, host) };
}

const candidates = async () => (await cluster.request<{ items: Candidate[] }>('GET', candidatesPath)).items;

async function untilThere(count: number): Promise<readonly Candidate[]> {
  for (;;) {
    const found = await candidates();
    if (found.length === count) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('taking part for a program', () => {
  test('publishes a candidate with the data of its pod, and deletes it', async () => {
    const { host, ended } = start(
      { labels: 'zone=b,app=web', binaryVersion: '1.4.2', emulationVersion: '1.4.0', priority: '-3' },
      { env: { ...pod, POD_NAMESPACE: 'default' } },
    );
    const [candidate] = await untilThere(1);
    expect(candidate).toMatchObject({
      metadata: {
        name: 'web-0-12345678',
        labels: { zone: 'b', app: 'web' },
        ownerReferences: [{ kind: 'Pod', name: 'web-0', uid: '12345678-9abc-4def-8123-456789abcdef' }],
      },
      spec: { leaseName: 'web', binaryVersion: '1.4.2', emulationVersion: '1.4.0', priority: -3 },
    });
    host.stop();
    expect(await ended).toBe(0);
    expect(await candidates()).toEqual([]);
    expect(host.said.out).toContain('"lease":"default/web"');
  });

  test.each<{ name: string; env: Record<string, string> }>([
    { name: 'in another namespace than its Pod', env: { ...pod, POD_NAMESPACE: 'kube-system' } },
    { name: 'by a kubeconfig, without the namespace of the Pod', env: pod },
  ])('publishes a candidate without an owner $name', async ({ env }) => {
    const { host, ended } = start({}, { env });
    const [candidate] = await untilThere(1);
    expect(candidate?.metadata).toMatchObject({ name: 'web-0-12345678' });
    expect(candidate?.metadata.ownerReferences).toBeUndefined();
    host.stop();
    expect(await ended).toBe(0);
    expect(host.said.out).toContain('"msg":"The LeaseCandidate has no owner');
  });

  test('with a command exits at SIGTERM before it leads, and never starts the command', async () => {
    const written = join(folder, 'written');
    const { host, ended } = start({}, { command: ['/bin/sh', '-c', `echo x > ${written}`] });
    await untilThere(1);
    host.signal('SIGHUP');
    expect(await candidates()).toHaveLength(1);
    host.signal('SIGTERM');
    expect(await ended).toBe(0);
    expect(await candidates()).toEqual([]);
    expect(existsSync(written)).toBe(false);
    // The standard output belongs to the command.
    expect(host.said.out).toBe('');
    expect(host.said.err).toContain('"msg":"Takes part in the election"');
  });

  test.each<{ name: string; flags: GivenFlags<ParticipateSettings>; command: readonly string[] }>([
    { name: 'with a command', flags: {}, command: ['sleep', '60'] },
    { name: 'without one', flags: {}, command: [] },
    { name: 'as a mere candidate', flags: { candidateOnly: 'true', identity: 'web-0' }, command: [] },
  ])('$name is ready when its candidate is published', async ({ flags, command }) => {
    const { host, ended } = start({ ...flags, healthListen: '127.0.0.1:0' }, { command });
    const address = await vi.waitUntil(
      () =>
        /"healthListen":\{"host":"(?<host>[^"]+)","port":(?<port>\d+)\}/.exec(host.said.out + host.said.err),
      SOON,
    );
    const ask = async (path: string) => {
      const { host: name, port } = address.groups ?? {};
      const response = await fetch(`http://${name}:${port}${path}`);
      return { status: response.status, body: await response.text() };
    };
    await untilThere(1);
    await vi.waitUntil(async () => (await ask('/readyz')).status === 200, SOON);
    expect((await ask('/livez')).status).toBe(200);
    expect((await ask('/metrics')).body).toContain('leader_election_master_status{name="web"} 0');
    expect((await ask('/')).body).toBe('not found; there are /metrics, /livez and /readyz\n');
    host.signal('SIGTERM');
    host.stop();
    expect(await ended).toBe(0);
  });

  test.each<{ name: string; flags: () => GivenFlags<ParticipateSettings>; want: string }>([
    {
      name: 'the program is not well',
      flags: () => ({ readyUrl: 'http://127.0.0.1:9/readyz' }),
      want: 'the LeaseCandidate is withdrawn',
    },
    {
      name: 'the API server has never been reached',
      flags: () => ({ kubeconfig: writeKubeconfig('nowhere', 'https://127.0.0.1:9') }),
      want: 'the LeaseCandidate is not published yet',
    },
  ])('is not ready while $name', async ({ flags, want }) => {
    const { host, ended } = start({ ...flags(), healthListen: '127.0.0.1:0' });
    const port = await vi.waitUntil(
      () => /"healthListen":\{[^}]*"port":(\d+)/.exec(host.said.out)?.[1],
      SOON,
    );
    const response = await fetch(`http://127.0.0.1:${port}/readyz`);
    expect(response.status).toBe(503);
    expect(await response.text()).toContain(`[-]candidate failed: ${want}`);
    host.stop();
    expect(await ended).toBe(0);
  });

  test('is a candidate only while a program asks for the lead, on a Unix socket', async () => {
    const socketPath = join(folder, 'socket');
    const { host, ended } = start({ leadByConnection: 'true', socket: socketPath, listen: 'off' });
    await vi.waitUntil(() => host.said.out.includes('"msg":"Takes part in the election"'), SOON);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await candidates()).toEqual([]);
    const asked = get({ socketPath, path: '/lead', agent: false }).on('error', () => {});
    await untilThere(1);
    asked.destroy();
    await untilThere(0);
    host.stop();
    expect(await ended).toBe(0);
    expect(existsSync(socketPath)).toBe(false);
  });

  test('is no candidate for a program that asks for the lead, but is unhealthy', async () => {
    const { host, ended } = start({ leadByConnection: 'true', readyUrl: 'http://127.0.0.1:9/readyz' });
    const port = await vi.waitUntil(() => /"listen":\{[^}]*"port":(\d+)/.exec(host.said.out)?.[1], SOON);
    const asked = get(`http://127.0.0.1:${port}/lead`, { agent: false });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await candidates()).toEqual([]);
    const refused = once(asked, 'response');
    host.stop();
    const [{ statusCode }] = (await refused) as [IncomingMessage];
    expect(statusCode).toBe(503);
    expect(await ended).toBe(0);
  });

  test('exits at SIGTERM although the API server is down', async () => {
    const { host, ended } = start(
      { kubeconfig: writeKubeconfig('nowhere', 'https://127.0.0.1:9') },
      { command: ['true'] },
    );
    await new Promise((resolve) => setTimeout(resolve, 200));
    host.signal('SIGTERM');
    expect(await ended).toBe(0);
  });

  test('is no candidate while the program is unhealthy', async () => {
    const { ended, host } = start({ readyUrl: 'http://127.0.0.1:9/readyz' });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await candidates()).toEqual([]);
    host.stop();
    expect(await ended).toBe(0);
  });

  test('is refused if the address is in use, with what to do', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const { port } = taken.address() as AddressInfo;
    await expect(start({ listen: `127.0.0.1:${port}` }).ended).rejects.toThrow('address already in use');
    taken.close();
  });

  test.each<{ flags: GivenFlags<ParticipateSettings>; want: string }>([
    { flags: { identity: 'Web_1' }, want: 'is no name of a LeaseCandidate' },
    { flags: { kubeconfig: '/nowhere/kubeconfig' }, want: 'Cannot read the kubeconfig' },
  ])('is refused with $flags', async ({ flags, want }) => {
    await expect(start(flags).ended).rejects.toThrow(want);
  });
});
