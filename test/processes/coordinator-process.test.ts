import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { User } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { makeCandidateObject } from '../controller/make-objects.ts';
import { startCuttableLink } from '../embedded/cuttable-link.ts';
import { type EmbeddedCluster, startEmbeddedCluster } from '../embedded/embedded-cluster.ts';

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

/** Accepts connections and never says a word. */
async function startMuteServer(): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}).resume()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}

interface Line {
  readonly msg: string;
  readonly state?: string;
  readonly listen?: { readonly port: number };
}

/** Runs the coordinator; `untilLogged` waits for a line of its log. */
async function startProcess(
  args: readonly string[],
  { env = {}, user }: { env?: Readonly<Record<string, string>>; user?: Partial<User> } = {},
) {
  const link = await startCuttableLink(cluster.address.port);
  onTestFinished(() => link.close());
  const kubeconfig = join(directory, 'kubeconfig');
  const config = cluster.kubeConfigOf('coordinator', link.url);
  if (user) config.users = config.users.map(({ name }) => ({ name, ...user }));
  await writeFile(kubeconfig, config.exportConfig());
  const child = spawn(process.execPath, [MAIN, 'run', '--kubeconfig', kubeconfig, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env,
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
    /** Asks it to end; resolves to its exit code and how long it took. */
    async end() {
      const askedAt = performance.now();
      child.kill('SIGTERM');
      const [code] = await ended;
      return { code, tookMs: performance.now() - askedAt };
    },
  };
}

describe('a coordinator that is asked to end', () => {
  test('does so within 5 s when its API server, its receiver of traces and a reader of its page hang', async () => {
    const traces = await startMuteServer();
    const { link, untilLogged, end } = await startProcess(['--listen', '127.0.0.1:0', '--status-page'], {
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${traces}` },
    });
    const { listen } = await untilLogged(({ msg }) => msg === 'Started');
    await untilLogged(({ state }) => state === 'active');
    const reader = connect(listen?.port ?? 0, '127.0.0.1', () => reader.write('GET /metr'));
    reader.on('error', () => {});
    onTestFinished(() => {
      reader.destroy();
    });
    link.stall();
    // Behind its back: nothing that it asks from now on is answered.
    await cluster.request('POST', CANDIDATES, makeCandidateObject('hung', { renewedAt: 0 }));
    const { code, tookMs } = await end();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5000);
    await cluster.request('DELETE', `${CANDIDATES}/hung`);
    await cluster.request('DELETE', LOCK);
  });

  test('does so within 5 s when a credential plugin hangs, which nothing but its own end could end', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sleep', args: ['8'] };
    const { untilLogged, end } = await startProcess(['--listen', 'off'], { user: { exec } });
    await untilLogged(({ msg }) => msg === 'Started');
    const { code, tookMs } = await end();
    expect(code).toBe(0);
    expect(tookMs).toBeLessThan(5000);
  });

  test('leaves the lock to whoever comes next', async () => {
    const { untilLogged, end } = await startProcess(['--listen', 'off']);
    await untilLogged(({ state }) => state === 'active');
    expect((await end()).code).toBe(0);
    const lock = await cluster.request<{ spec: { holderIdentity?: string } }>('GET', LOCK);
    expect(lock.spec.holderIdentity ?? '').toBe('');
  });
});
