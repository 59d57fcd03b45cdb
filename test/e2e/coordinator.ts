import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAllYaml } from '@kubernetes/client-node';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { LogLine } from '../support/log-line.ts';

/** The ServiceAccount of deploy/rbac.yaml. */
const serviceAccount = { namespace: 'kube-system', name: 'coordinated-leader-election' } as const;

/** A replica of the coordinator in its own process, by default from `src/main.ts`. */
export interface Coordinator {
  readonly pid: number;
  /** Its log so far. */
  readonly log: readonly LogLine[];
  /** Standard error, and printed text that is not a log line. */
  readonly output: () => string;
  /** Body and status of its HTTP endpoint, like `/readyz`. */
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
  /** The first matching log line, past or future. */
  waitForLog(matches: (line: LogLine) => boolean, timeoutMs?: number): Promise<LogLine>;
  /** Sends SIGTERM and waits for the exit. Resolves to the exit code. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
}

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

/** Installs deploy/rbac.yaml and returns a kubeconfig with a token of its ServiceAccount. */
export async function installRole(plane: ControlPlane): Promise<string> {
  await createRole(plane.request);
  return plane.kubeconfigFor({ serviceAccount });
}

/** Creates the objects in deploy/rbac.yaml, by `request`. */
export async function createRole(
  request: (method: string, path: string, body: unknown) => Promise<unknown>,
): Promise<void> {
  const text = await readFile(new URL('../../deploy/rbac.yaml', import.meta.url), 'utf8');
  for (const manifest of loadAllYaml(text) as Manifest[]) {
    const group = manifest.apiVersion.includes('/')
      ? `/apis/${manifest.apiVersion}`
      : `/api/${manifest.apiVersion}`;
    const namespace = manifest.metadata.namespace ? `/namespaces/${manifest.metadata.namespace}` : '';
    await request('POST', `${group}${namespace}/${manifest.kind.toLowerCase()}s`, manifest);
  }
}

/** The program of a replica. */
export interface CoordinatorProgram {
  readonly main: URL;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
  /** In addition to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

const fromSource: CoordinatorProgram = { main: new URL('../../src/main.ts', import.meta.url) };

/** Starts a replica with `kubeconfig` and more arguments of `run`. It is not ready yet: see {@link untilActive}. */
export async function startCoordinator(
  kubeconfig: string,
  args: readonly string[] = [],
  { main, nodeArgs = [], env = {} }: CoordinatorProgram = fromSource,
): Promise<Coordinator> {
  const child = spawn(
    process.execPath,
    [
      ...nodeArgs,
      main.pathname,
      'run',
      '--kubeconfig',
      kubeconfig,
      '--listen',
      '127.0.0.1:0',
      '--log-level',
      'debug',
      ...args,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } },
  );
  // A crashed test must leave no process behind.
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  const log: LogLine[] = [];
  const listeners = new Set<(line: LogLine) => void>();
  let rest = '';
  createInterface(child.stdout).on('line', (text) => {
    if (!text.startsWith('{')) {
      rest += `${text}\n`;
      return;
    }
    const line = JSON.parse(text) as LogLine;
    log.push(line);
    for (const listener of listeners) listener(line);
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    rest += text;
  });
  const coordinator = coordinatorOf(child, log, listeners, () => rest);
  await coordinator.waitForLog(({ msg }) => msg === 'Started');
  return coordinator;
}

function coordinatorOf(
  child: ChildProcess,
  log: LogLine[],
  listeners: Set<(line: LogLine) => void>,
  output: () => string,
): Coordinator {
  const ended = once(child, 'exit').then(([code]) => code as number | null);
  const coordinator: Coordinator = {
    pid: child.pid ?? -1,
    log,
    output,
    async get(path) {
      const { listen } = await coordinator.waitForLog(({ msg }) => msg === 'Started');
      const { port } = listen as { port: number };
      const response = await fetch(`http://127.0.0.1:${port}${path}`);
      return { status: response.status, body: await response.text() };
    },
    async waitForLog(matches, timeoutMs = 30_000) {
      const past = log.find(matches);
      if (past) return past;
      const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
      const listener = (line: LogLine) => matches(line) && resolve(line);
      listeners.add(listener);
      const timer = setTimeout(() => {
        const last = log.slice(-10).map((line) => JSON.stringify(line).slice(0, 400));
        reject(
          new Error(`no such line within ${timeoutMs} ms; the last ones:\n${last.join('\n')}\n${output()}`),
        );
      }, timeoutMs);
      const onEnd = ended.then((code) =>
        reject(new Error(`the coordinator ended with ${code}: ${output()}`)),
      );
      onEnd.catch(() => {});
      return promise.finally(() => {
        clearTimeout(timer);
        listeners.delete(listener);
      });
    },
    async stop() {
      child.kill('SIGTERM');
      return ended;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    signal: (signal) => {
      child.kill(signal);
    },
  };
  return coordinator;
}

/** Waits until a replica is the active coordinator and has synced. Taking over from the built-in takes 15 s. */
export async function untilActive(coordinator: Coordinator, timeoutMs = 40_000): Promise<void> {
  await coordinator.waitForLog(({ state }) => state === 'active', timeoutMs);
  await coordinator.waitForLog(({ msg }) => msg === 'Watching LeaseCandidates', timeoutMs);
}

/** Polls `probe` until it returns a value. Rejects with the text of `describe` if it does not in time. */
export async function eventually<T>(
  probe: () => Promise<T | undefined> | T | undefined,
  describe: string,
  timeoutMs = 30_000,
  intervalMs = 50,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${describe}`);
    await sleep(intervalMs);
  }
}
