import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';
import { generateCertificate } from '../../src/apiserver/access/certificates.ts';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { type ApiServerOptions, startApiServer } from '../../src/apiserver/api-server.ts';
import { formatMicroTime } from '../../src/coordination/micro-time.ts';
import { runSettings } from '../../src/settings/run-settings.ts';
import { resolveSettings } from '../../src/settings/settings-table.ts';
import type { Host } from '../../src/support/host.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';
import { WALL_START } from '../support/election-builders.ts';

const ADMIN = 'admin-token';
const READER = 'reader-token';
const LIMITED = 'limited-token';
const NATIVE = 'native-token';

/** Timers run normally. The clocks stand still, so that shown times are the same in every run. */
const stillClock = { ...systemClock, now: () => 0, wallTime: () => WALL_START };

let madeCertificate: ReturnType<typeof generateCertificate> | undefined;

/** A server in this process with the test's objects, and processes for commands that read it. */
export interface LookingSite {
  /** Paths of kubeconfigs. */
  readonly kubeconfig: string;
  readonly readOnlyKubeconfig: string;
  /** A user with a coordinator's permissions in `kube-system`, and none elsewhere. */
  readonly limitedKubeconfig: string;
  /** A user with all permissions in the native API groups only. */
  readonly nativeKubeconfig: string;
  putLease(namespace: string, name: string, spec: object): Promise<void>;
  putCandidate(namespace: string, name: string, spec: object, annotations?: object): Promise<void>;
  /** Pings a candidate, as the coordinator does. */
  ping(namespace: string, name: string, pingTime: string): Promise<void>;
  /** Closes the server; the kubeconfigs stay. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

/** `2026-01-01T00:00:00.000000Z`, plus this many seconds. */
export function timeAt(seconds: number): string {
  return formatMicroTime(WALL_START + BigInt(seconds * 1_000_000));
}

export async function startLookingSite(
  options: Pick<ApiServerOptions, 'leaseCandidateVersions'> = {},
): Promise<LookingSite> {
  // Without TLS, clients do not send their tokens.
  madeCertificate ??= generateCertificate(['127.0.0.1'], systemClock);
  const { ca, cert, key } = await madeCertificate;
  const server = await startApiServer({
    clock: stillClock,
    listen: { host: '127.0.0.1', port: 0 },
    tls: { cert, key },
    tokens: [
      { token: ADMIN, user: { name: 'admin', groups: [] }, rules: 'admin' },
      { token: READER, user: { name: 'reader', groups: [] }, rules: 'read-only' },
      {
        token: LIMITED,
        user: { name: 'limited', groups: [] },
        rules: [{ verbs: ['*'], groups: ['*'], resources: ['*'], namespaces: ['kube-system'] }],
      },
      {
        token: NATIVE,
        user: { name: 'native', groups: [] },
        rules: [{ verbs: ['*'], groups: ['coordination.k8s.io'], resources: ['*'] }],
      },
    ],
    ...options,
  });
  const access = { url: server.url, ca, token: ADMIN };
  const directory = await mkdtemp(join(tmpdir(), 'looking-site-'));
  const write = async (name: string, token: string) => {
    const path = join(directory, name);
    await writeFile(path, kubeconfigText({ server: server.url, ca, token }));
    return path;
  };
  return {
    kubeconfig: await write('admin', ADMIN),
    readOnlyKubeconfig: await write('reader', READER),
    limitedKubeconfig: await write('limited', LIMITED),
    nativeKubeconfig: await write('native', NATIVE),
    putLease: (namespace, name, spec) =>
      post(access, `v1/namespaces/${namespace}/leases`, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name },
        spec,
      }),
    putCandidate: (namespace, name, spec, annotations = {}) =>
      post(access, `v1beta1/namespaces/${namespace}/leasecandidates`, {
        apiVersion: 'coordination.k8s.io/v1beta1',
        kind: 'LeaseCandidate',
        metadata: { name, annotations },
        spec: { strategy: 'OldestEmulationVersion', ...spec },
      }),
    async ping(namespace, name, pingTime) {
      const path = `/apis/coordination.k8s.io/v1beta1/namespaces/${namespace}/leasecandidates/${name}`;
      const { status, text } = await apiRequest(access, 'PATCH', path, { spec: { pingTime } });
      if (status !== 200) throw new Error(text);
    },
    close: () => server.close(),
    async stop() {
      await server.close();
      await rm(directory, { recursive: true });
    },
  };
}

async function post(access: ApiAccess, path: string, body: object): Promise<void> {
  const manager = path.includes('leasecandidates') ? 'scheduler' : 'coordinated-leader-election';
  const target = `/apis/coordination.k8s.io/${path}?fieldManager=${manager}`;
  const { status, text } = await apiRequest(access, 'POST', target, body);
  if (status !== 201) throw new Error(text);
}

/** A process for a command, with its output; `stop` asks it to exit. */
export function makeLookingHost(
  options: { columns?: number; env?: Record<string, string>; aheadSeconds?: number } = {},
): Host & { readonly said: { out: string; err: string }; stop(): void } {
  const said = { out: '', err: '' };
  const stopping = new AbortController();
  const output = (name: 'out' | 'err') => {
    const stream = new Writable({
      write(chunk: unknown, _encoding, done) {
        said[name] += String(chunk);
        done();
      },
    });
    const isTerminal = options.columns !== undefined;
    return Object.assign(stream, isTerminal && { isTTY: true, columns: options.columns }) as WriteStream;
  };
  return {
    said,
    clock: {
      ...stillClock,
      wallTime: () => WALL_START + BigInt((options.aheadSeconds ?? 0) * 1_000_000),
    },
    env: options.env ?? {},
    stdin: Readable.from(['']) as ReadStream,
    stdout: output('out'),
    stderr: output('err'),
    stopOn: () => stopping.signal,
    onSignals: () => {},
    kill: () => {},
    beforeExit: () => () => {},
    stop: () => stopping.abort('SIGINT'),
  };
}

const { electionDurationMs, leaseDurationSeconds, candidateValidityMs, candidateGcAfterMs } = resolveSettings(
  runSettings,
  {},
  {},
);

/** The settings of a command with only a kubeconfig. */
export function lookingSettings(kubeconfig: string) {
  return {
    kubeconfig,
    context: undefined,
    namespace: undefined,
    lockNamespace: 'kube-system',
    leaderLabel: false,
    isCrashEvidenceUsed: false,
    output: 'table' as const,
    ...{ electionDurationMs, leaseDurationSeconds, candidateValidityMs, candidateGcAfterMs },
  };
}
