import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { loadAllYaml } from '@kubernetes/client-node';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { LogLine } from '../support/log-line.ts';
import { eventually } from './coordinator.ts';

const ROLE = 'coordinated-leader-election:participant';
const account = { namespace: 'default', name: 'web' } as const;

/** `participate` in its own process, from `src/main.ts`. */
export interface ParticipateProcess {
  readonly pid: number;
  /** Its log so far. */
  readonly log: readonly LogLine[];
  /** Resolves to its exit code, or to null after a signal. */
  readonly ended: Promise<number | null>;
  /** The first log line with this message, past or future. */
  logged(msg: string): Promise<LogLine>;
  /** Sends a request, by default GET, to an endpoint of a sidecar. */
  ask(path: string, method?: string): Promise<{ readonly status: number; readonly body: string }>;
  signal(signal: NodeJS.Signals): void;
}

/** A kubeconfig of a ServiceAccount with the chart's permissions of a participant, in its own namespace. */
export async function participantKubeconfig(plane: ControlPlane): Promise<string> {
  const manifests = loadAllYaml(
    await readFile(new URL('../../deploy/coordinator.yaml', import.meta.url), 'utf8'),
  ) as { readonly kind: string; readonly metadata: { readonly name: string } }[];
  const role = manifests.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === ROLE);
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  await plane.request('POST', `${rbac}/clusterroles`, role);
  await plane.request('POST', `/api/v1/namespaces/${account.namespace}/serviceaccounts`, {
    metadata: { name: account.name },
  });
  await plane.request('POST', `${rbac}/namespaces/${account.namespace}/rolebindings`, {
    metadata: { name: 'participant' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: ROLE },
    subjects: [{ kind: 'ServiceAccount', ...account }],
  });
  return plane.kubeconfigFor({ serviceAccount: account });
}

/** Starts it with arguments of `participate`, and only PATH in its environment. */
export function startParticipate(kubeconfig: string, args: readonly string[]): ParticipateProcess {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const [lease = '', ...more] = args;
  const child = spawn(process.execPath, [main, 'participate', lease, '--kubeconfig', kubeconfig, ...more], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  // A crashed test must leave no process behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const log: LogLine[] = [];
  let rest = '';
  for (const stream of [child.stdout, child.stderr]) {
    createInterface(stream).on('line', (text) => {
      if (text.startsWith('{')) log.push(JSON.parse(text) as LogLine);
      else rest += `${text}\n`;
    });
  }
  const logged = (msg: string) =>
    eventually(() => log.find((line) => line.msg === msg), msg).catch((cause: unknown) => {
      throw new Error(`${args.join(' ')}: ${JSON.stringify(log.slice(-10))} ${rest}`, { cause });
    });
  return {
    pid: child.pid ?? -1,
    log,
    ended: once(child, 'exit').then(([code]) => code as number | null),
    logged,
    async ask(path, method = 'GET') {
      const { listen } = await logged('Takes part in the election');
      const { port } = listen as { port: number };
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { method });
      return { status: response.status, body: await response.text() };
    },
    signal: (signal) => {
      child.kill(signal);
    },
  };
}
