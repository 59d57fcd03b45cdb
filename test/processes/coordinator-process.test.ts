import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { User } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runCoordinator } from '../../src/processes/coordinator-process.ts';
import { runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { startCuttableLink } from '../embedded/cuttable-link.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded/embedded-cluster.ts';
import { SimHost } from '../support/make-host.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;
const LOCK = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller';
const CANDIDATES = '/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates';

let cluster: EmbeddedCluster;
let directory: string;

beforeAll(async () => {
  cluster = await startEmbeddedCluster();
  directory = await mkdtemp(join(tmpdir(), 'coordinator-process-'));
});
afterAll(async () => {
  await cluster.stop();
  await rm(directory, { recursive: true, force: true });
});

/** Accepts connections and never answers. */
async function startMuteServer() {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}).resume()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return { port: typeof address === 'object' ? (address?.port ?? 0) : 0, sockets };
}

/** Writes a kubeconfig for the cluster with its own address. */
async function startLink(user?: Partial<User>) {
  const link = await startCuttableLink(cluster.address.port);
  onTestFinished(() => link.close());
  const kubeconfig = join(directory, 'kubeconfig');
  const config = cluster.kubeConfigOf('coordinator', link.url);
  if (user) config.users = config.users.map(({ name }) => ({ name, ...user }));
  await writeFile(kubeconfig, config.exportConfig());
  return { link, kubeconfig };
}

/** A reader of the page that never sends a request. */
function startMuteReader(port: number): void {
  const reader = connect(port, '127.0.0.1', () => reader.write('GET /metr'));
  reader.on('error', () => {});
  onTestFinished(() => {
    reader.destroy();
  });
}

/** Begins an election that waits for an answer. */
async function startElection(): Promise<void> {
  const path = `${CANDIDATES}/hung`;
  await cluster.request('POST', CANDIDATES, makeCandidateObject('hung', { renewedAt: -60_000 }));
  onTestFinished(async () => {
    await cluster.request('DELETE', path);
    await cluster.request('DELETE', LOCK);
  });
  await expect.poll(() => cluster.request('GET', path), { timeout: 20_000 }).toHaveProperty('spec.pingTime');
}

interface Line {
  readonly msg: string;
  readonly state?: string;
  readonly listen?: { readonly port: number };
}

/** Runs the coordinator; `untilLogged` waits for a log line. */
async function startProcess(args: readonly string[], { user }: { user?: Partial<User> } = {}) {
  const { link, kubeconfig } = await startLink(user);
  const child = spawn(process.execPath, [MAIN, 'run', '--kubeconfig', kubeconfig, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {},
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const lines: Line[] = [];
  const log = createInterface(child.stdout).on('line', (line) => lines.push(JSON.parse(line) as Line));
  return {
    link,
    async untilLogged(matches: (line: Line) => boolean): Promise<Line> {
      for (;;) {
        const found = lines.find(matches);
        if (found) return found;
        await once(log, 'line');
      }
    },
    /** Asks it to exit. Resolves to its exit code. */
    async end() {
      child.kill('SIGTERM');
      const [code] = await ended;
      return code;
    },
  };
}

describe('a coordinator that is asked to exit', () => {
  test('exits within 5 s of its clock when its API server and a reader of its page hang', async () => {
    const { link, kubeconfig } = await startLink();
    const [port = 0] = await freePorts(1);
    const clock = new VirtualClock();
    const host = new SimHost({ clock });
    const settings = {
      ...resolveSettings(runSettings, {}, {}),
      ...{ kubeconfig, listen: { host: '127.0.0.1', port }, statusPage: true, logLevel: 'error' as const },
    };
    let endedAt: number | undefined;
    const ended = runCoordinator(settings, host).then(() => {
      endedAt = clock.now();
    });
    const isActive = async () =>
      (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.text();
    await expect.poll(isActive, { timeout: 20_000 }).toContain('[+]coordinator-lock ok: active');
    await startElection();
    startMuteReader(port);
    link.stall();
    // Everything runs in this process: after this many turns of its event loop, all pending work is done.
    const pass = async (ms: number) => {
      for (const until = clock.now() + ms; clock.now() < until && endedAt === undefined; ) {
        await clock.advance(10);
        for (let turn = 0; turn < 10; turn += 1) await settle();
      }
    };
    // By then, the lock was due for a renewal, which is not answered.
    await pass(6000);
    host.stop();
    await pass(5000);
    expect(endedAt).toBeDefined();
    await ended;
  });

  test('exits when anything hangs', async () => {
    const { link, untilLogged, end } = await startProcess(['--listen', '127.0.0.1:0', '--status-page']);
    const { listen } = await untilLogged(({ msg }) => msg === 'Started');
    await untilLogged(({ state }) => state === 'active');
    await startElection();
    startMuteReader(listen?.port ?? 0);
    link.stall();
    expect(await end()).toBe(0);
  });

  test('exits when a credential plugin hangs, which only the exit of the process can end', async () => {
    const plugin = await startMuteServer();
    const hang = `require('node:net').connect(${plugin.port}, '127.0.0.1').on('error', () => {})`;
    const exec = {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', hang],
    };
    const { untilLogged, end } = await startProcess(['--listen', 'off'], { user: { exec } });
    await untilLogged(({ msg }) => msg === 'Started');
    await expect.poll(() => plugin.sockets.size, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await end()).toBe(0);
    expect([...plugin.sockets].filter(({ destroyed }) => !destroyed)).not.toEqual([]);
  });

  test('leaves the lock to its successor', async () => {
    const { untilLogged, end } = await startProcess(['--listen', 'off']);
    await untilLogged(({ state }) => state === 'active');
    expect(await end()).toBe(0);
    const lock = await cluster.request<{ spec: { holderIdentity?: string } }>('GET', LOCK);
    expect(lock.spec.holderIdentity ?? '').toBe('');
  });
});

describe('a lock in its own namespace', () => {
  const settingsFor = (kubeconfig: string) => ({
    ...resolveSettings(runSettings, { lockNamespace: 'infra' }, {}),
    ...{ kubeconfig, listen: undefined, logLevel: 'error' as const },
  });

  test('is refused at the start if the API server serves native LeaseCandidates', async () => {
    const { kubeconfig } = await startLink();
    const running = runCoordinator(settingsFor(kubeconfig), new SimHost({ clock: new VirtualClock() }));
    await expect(running).rejects.toThrow(
      /^the lock cannot be in namespace infra: .*Leave --lock-namespace out, or turn CoordinatedLeaderElection/,
    );
  });

  test('does not prevent the start if the API server does not answer', async () => {
    const { link, kubeconfig } = await startLink();
    link.stall();
    const clock = new VirtualClock();
    const host = new SimHost({ clock });
    const running = runCoordinator(settingsFor(kubeconfig), host);
    for (let turn = 0; turn < 100; turn += 1) {
      await clock.advance(100);
      await settle();
    }
    host.stop();
    for (let turn = 0; turn < 100; turn += 1) {
      await clock.advance(100);
      await settle();
    }
    await running;
  });
});
