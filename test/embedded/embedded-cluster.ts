import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { generateCertificate } from '../../src/apiserver/access/certificates.ts';
import { kubeconfigText } from '../../src/apiserver/access/client-credentials.ts';
import { type ApiServer, startApiServer } from '../../src/apiserver/api-server.ts';
import type { RequestLine } from '../../src/apiserver/http/server.ts';
import type { ServedCandidates } from '../../src/coordination/candidate-sources.ts';
import { systemClock } from '../../src/support/system-clock.ts';
import { apiRequest } from '../control-plane/api-request.ts';
import type { CoordinationServer } from '../control-plane/coordination-plane.ts';
import { coordinatorRules } from '../support/coordinator-role.ts';

/** The options of the embedded server. */
export interface EmbeddedClusterOptions {
  /** Default: all of them. */
  readonly leaseCandidateVersions?: readonly ServedCandidates[];
  readonly historyLimit?: number;
  /** Whether it has a data directory, and so can be opened again after it was closed; default false. */
  readonly keepsData?: boolean;
}

/**
 * The users of the server: an administrator, and replicas of the coordinator with the permissions of
 * deploy/rbac.yaml.
 */
export type ClusterUser = 'admin' | 'coordinator' | 'other-coordinator';

/** The embedded server in this process, over HTTPS on a free port. */
export interface EmbeddedCluster extends CoordinationServer {
  readonly address: ApiServer['address'];
  /** Every answered request, and every ended watch. */
  readonly requests: readonly RequestLine[];
  /** `url`: its address, if clients use a proxy. */
  kubeConfigOf(user: ClusterUser, url?: string): KubeConfig;
  /** Closes the server. Its data is there when it is opened again. */
  close(): Promise<void>;
  /** Starts the server again at the same address, with its data directory. */
  open(leaseCandidateVersions?: readonly ServedCandidates[]): Promise<void>;
  /** @throws AggregateError if an unexpected error occurred, or if a coordinator lacked a permission */
  stop(): Promise<void>;
}

const HOST = '127.0.0.1';
/** In the meantime, another process may have used its port. */
const OPEN_WITHIN_MS = 10_000;

let madeCertificate: ReturnType<typeof generateCertificate> | undefined;

export async function startEmbeddedCluster(options: EmbeddedClusterOptions = {}): Promise<EmbeddedCluster> {
  const { historyLimit, keepsData = false, leaseCandidateVersions: firstVersions } = options;
  madeCertificate ??= generateCertificate([HOST], systemClock);
  const { ca, cert, key } = await madeCertificate;
  const directory = await mkdtemp(join(tmpdir(), 'embedded-cluster-'));
  const caFile = join(directory, 'ca.crt');
  await writeFile(caFile, ca);
  const tokens = { admin: token(), coordinator: token(), 'other-coordinator': token() };
  const role = await coordinatorRules();
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  const requests: RequestLine[] = [];
  const errors: unknown[] = [];

  const start = (port: number, leaseCandidateVersions: readonly ServedCandidates[] | undefined) =>
    startApiServer({
      clock: systemClock,
      listen: { host: HOST, port },
      tls: { cert, key },
      tokens: (['admin', 'coordinator', 'other-coordinator'] as const).map((name) => ({
        token: tokens[name],
        user: { name, groups: [] },
        rules: name === 'admin' ? ('admin' as const) : role,
      })),
      ...(leaseCandidateVersions && { leaseCandidateVersions }),
      ...(keepsData && { dataDirectory: join(directory, 'data') }),
      ...(historyLimit !== undefined && { historyLimit }),
      onRequest: (line) => requests.push(line),
      onError: (error) => errors.push(error),
    });
  let server: ApiServer | undefined = await start(0, firstVersions);
  const { url, address } = server;

  async function close(): Promise<void> {
    agent.destroy();
    await server?.close();
    server = undefined;
  }

  return {
    url,
    address,
    caFile,
    adminToken: tokens.admin,
    requests,
    async request<T>(method: string, path: string, body?: unknown): Promise<T> {
      const { status, text } = await apiRequest({ url, ca, token: tokens.admin, agent }, method, path, body);
      if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.trim()}`);
      return JSON.parse(text) as T;
    },
    kubeConfigOf(user, server = url) {
      const kubeConfig = new KubeConfig();
      kubeConfig.loadFromString(kubeconfigText({ server, ca, token: tokens[user] }));
      return kubeConfig;
    },
    close,
    async open(leaseCandidateVersions = firstVersions) {
      const deadline = performance.now() + OPEN_WITHIN_MS;
      while (!server) {
        server = await start(address.port, leaseCandidateVersions).catch((error: unknown) => {
          if (performance.now() > deadline) throw error;
          return undefined;
        });
        if (!server) await sleep(50);
      }
    },
    async stop() {
      await close();
      await rm(directory, { recursive: true, force: true });
      const refused = requests.filter(({ user, code }) => user !== 'admin' && code === 403);
      if (errors.length > 0 || refused.length > 0) {
        throw new AggregateError(errors, `what should never happen; refused: ${JSON.stringify(refused)}`);
      }
    },
  };
}

function token(): string {
  return randomBytes(16).toString('hex');
}
