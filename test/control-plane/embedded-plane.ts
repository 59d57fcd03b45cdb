import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { coordinatorRules } from '../support/coordinator-role.ts';
import { type ApiAccess, apiRequest } from './api-request.ts';
import type { CoordinationPlane } from './coordination-plane.ts';
import { type Electors, startElectors } from './electors.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { untilReady } from './ready.ts';
import { startReaper } from './reaper.ts';
import { type ServerProcess, startServer } from './server-process.ts';

/** The options of the embedded server. */
export interface EmbeddedPlaneOptions {
  /** Default: all. */
  readonly leaseCandidateVersions?: readonly string[];
  /** Whether it has a data directory; default true. */
  readonly keepsData?: boolean;
}

/** The embedded server (`serve`), in its own process. */
export interface EmbeddedPlane extends CoordinationPlane {
  /** A kubeconfig with the permissions of the coordinator in deploy/rbac.yaml. */
  readonly coordinatorKubeconfig: string;
  /** A read-only kubeconfig. */
  readonly readOnlyKubeconfig: string;
  /** Kills the server and starts it again on the same port and data. */
  restart(): Promise<void>;
}

/** Starts the embedded server and waits until it is ready. It ends with this process. */
export async function startEmbeddedPlane(options: EmbeddedPlaneOptions = {}): Promise<EmbeddedPlane> {
  const directory = await mkdtemp(join(tmpdir(), 'embedded-plane-'));
  const reaper = startReaper(process.env['CLE_KEEP'] ? undefined : directory);
  const tokens = { admin: token(), coordinator: token(), reader: token() };
  const tokenFile = join(directory, 'tokens.yaml');
  const grants = [
    { name: 'admin', token: tokens.admin, access: 'admin' },
    { name: 'reader', token: tokens.reader, access: 'read-only' },
    { name: 'coordinator', token: tokens.coordinator, access: await coordinatorRules() },
  ];
  await writeFile(tokenFile, JSON.stringify(grants), { mode: 0o600 });
  const written = join(directory, 'written.kubeconfig');
  const start = (listen: string): ServerProcess =>
    startServer(
      {
        name: 'serve',
        path: process.execPath,
        logFile: join(directory, 'serve.log'),
        args: [
          new URL('../../src/main.ts', import.meta.url).pathname,
          'serve',
          `--listen=${listen}`,
          ...(options.keepsData === false ? [] : [`--data-dir=${join(directory, 'data')}`]),
          `--tokens=${tokenFile}`,
          `--kubeconfig-out=${written}`,
          ...(options.leaseCandidateVersions
            ? [`--leasecandidate-versions=${options.leaseCandidateVersions.join()}`]
            : []),
        ],
      },
      reaper,
    );
  try {
    let server = start('127.0.0.1:0');
    const access = await untilServing(server, written, tokens.admin);
    const kubeconfigOf = (name: string, bearer: string) =>
      writeKubeconfig(join(directory, `${name}.kubeconfig`), { ...access, token: bearer });
    const kubeconfig = await kubeconfigOf('admin', tokens.admin);
    const started: Electors[] = [];
    const caFile = join(directory, 'ca.crt');
    await writeFile(caFile, access.ca);
    return {
      url: access.url,
      kubeconfig,
      coordinatorKubeconfig: await kubeconfigOf('coordinator', tokens.coordinator),
      readOnlyKubeconfig: await kubeconfigOf('reader', tokens.reader),
      caFile,
      adminToken: tokens.admin,
      directory,
      async request<T>(method: string, path: string, body?: unknown): Promise<T> {
        const { status, text } = await apiRequest(access, method, path, body);
        if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.trim()}`);
        return JSON.parse(text) as T;
      },
      async startElectors(config = kubeconfig) {
        const electors = await startElectors(config);
        started.push(electors);
        return electors;
      },
      async restart() {
        await killed(server);
        server = start(new URL(access.url).host);
        await untilServing(server, written, tokens.admin);
      },
      async stop() {
        await Promise.all(started.map((each) => each.stop()));
        await killed(server);
        await reaper.end();
      },
    };
  } catch (error) {
    await reaper.end();
    throw error;
  }
}

async function untilServing(server: ServerProcess, written: string, bearer: string): Promise<ApiAccess> {
  let access: ApiAccess | undefined;
  const isReady = async () => {
    const config = loadYaml(await readFile(written, 'utf8')) as {
      clusters: [{ cluster: { server: string; 'certificate-authority-data': string } }];
    };
    const { server: url, 'certificate-authority-data': ca } = config.clusters[0].cluster;
    const asked = { url, ca: Buffer.from(ca, 'base64').toString('utf8'), token: bearer };
    if ((await apiRequest(asked, 'GET', '/readyz')).status !== 200) return false;
    access = asked;
    return true;
  };
  await untilReady(server, isReady, 30_000);
  if (access === undefined) throw new Error('it cannot be ready without having been asked');
  return access;
}

function token(): string {
  return randomBytes(16).toString('hex');
}

async function killed(server: ServerProcess): Promise<void> {
  server.kill('SIGKILL');
  await server.exited;
}
