import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ApiAccess, apiRequest, apiRequestInTurn } from './api-request.ts';
import { binary } from './binaries.ts';
import type { CoordinationPlane } from './coordination-plane.ts';
import {
  asElectingComponent,
  type ElectingComponent,
  type ElectingComponentOptions,
  electingComponentCommand,
  type LeaseCandidateMetadata,
} from './electing-component.ts';
import { type Electors, startElectors } from './electors.ts';
import { freePorts } from './free-port.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { defaultVersion } from './kubernetes-versions.ts';
import { NotReadyError, untilReady } from './ready.ts';
import { type Reaper, startReaper } from './reaper.ts';
import { type ApiServerOptions, apiServerArgs, etcdArgs, writeServerCredentials } from './server-args.ts';
import { type ServerProcess, startServer } from './server-process.ts';

/** The options of a control plane. */
export interface ControlPlaneOptions extends ApiServerOptions {
  /** Start timeout of each server; default 60 s. */
  readonly readyWithinMs?: number;
}

/** The user of a kubeconfig. */
export type Subject =
  | { readonly token: string }
  | { readonly serviceAccount: { readonly namespace: string; readonly name: string } };

/** A real etcd and kube-apiserver on the loopback interface, with RBAC on. */
export interface ControlPlane extends CoordinationPlane {
  /** The etcd that runs now: a backup and a restore each start another process. */
  readonly etcd: ServerProcess;
  readonly etcdUrl: string;
  /** The kube-apiserver that runs now: a restart starts another process. */
  readonly apiServer: ServerProcess;
  /** Returns the path of a new kubeconfig for a bearer token, or for a new token of an existing ServiceAccount. */
  kubeconfigFor(subject: Subject): Promise<string>;
  startScheduler(options: ElectingComponentOptions): Promise<ElectingComponent>;
  startControllerManager(options: ElectingComponentOptions): Promise<ElectingComponent>;
  /** Suspends the kube-apiserver: connections stay open without answers. */
  suspend(): void;
  resume(): void;
  /** Kills the kube-apiserver and starts it again on the same port and data, with other options if given. */
  restartApiServer(changes?: ApiServerOptions): Promise<void>;
  /**
   * Backs up etcd. The returned function restores the backup like an administrator, with the kube-apiserver stopped.
   */
  backUp(): Promise<() => Promise<void>>;
}

/** The shared parts of the servers of one plane. */
interface Site {
  readonly directory: string;
  readonly adminToken: string;
  readonly reaper: Reaper;
  readonly readyWithinMs: number;
}

interface RunningEtcd {
  readonly server: ServerProcess;
  readonly url: string;
  /** Starts another process on the same ports and data. */
  startAgain(): Promise<RunningEtcd>;
}

interface RunningApiServer {
  readonly server: ServerProcess;
  readonly access: ApiAccess;
}

/**
 * Starts a control plane and waits until it is ready. It ends with this process, even if that is killed.
 * @throws Error with the end of the failing server's log
 */
export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const { readyWithinMs = 60_000, ...apiServerOptions } = options;
  const programs = { etcd: await binary('etcd'), apiServer: await apiServerBinary(apiServerOptions) };
  const directory = await mkdtemp(join(tmpdir(), 'control-plane-'));
  const reaper = startReaper(process.env['CLE_KEEP'] ? undefined : directory);
  try {
    const site = { directory, reaper, readyWithinMs, adminToken: randomBytes(16).toString('hex') };
    await writeServerCredentials(directory, [`${site.adminToken},admin,admin,"system:masters"`]);
    const etcd = await startEtcd(programs.etcd, site);
    const first = await onFreePorts(1, ([port = 0]) =>
      startApiServer(programs.apiServer, apiServerOptions, port, etcd.url, site),
    );
    return await assemble(site, etcd, first, apiServerOptions);
  } catch (error) {
    await reaper.end();
    throw error;
  }
}

async function assemble(
  site: Site,
  firstEtcd: RunningEtcd,
  first: RunningApiServer,
  options: ApiServerOptions,
): Promise<ControlPlane> {
  const { directory, reaper, adminToken } = site;
  const kubeconfig = await writeKubeconfig(join(directory, 'admin.kubeconfig'), first.access);
  let { server } = first;
  let etcd = firstEtcd;
  let currentOptions = options;
  let kubeconfigs = 0;
  const started: (ServerProcess | Electors)[] = [];

  async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text } = await apiRequestInTurn(first.access, method, path, body);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${text.trim()}`);
    return JSON.parse(text) as T;
  }

  async function listCandidates(): Promise<readonly LeaseCandidateMetadata[]> {
    const path = '/apis/coordination.k8s.io/v1beta1/namespaces/kube-system/leasecandidates';
    return (await request<{ items: LeaseCandidateMetadata[] }>('GET', path)).items;
  }

  async function startComponent(
    path: string,
    component: ElectingComponentOptions,
    kindArgs: readonly string[],
  ): Promise<ElectingComponent> {
    const command = electingComponentCommand(path, component, { directory, kubeconfig }, kindArgs);
    const running = startServer(command, reaper);
    started.push(running);
    return asElectingComponent(running, listCandidates);
  }

  async function restartApiServer(changes: ApiServerOptions = {}): Promise<void> {
    currentOptions = { ...currentOptions, ...changes };
    const path = await apiServerBinary(currentOptions);
    await killed(server);
    const port = Number(new URL(first.access.url).port);
    ({ server } = await startApiServer(path, currentOptions, port, etcd.url, site));
  }

  async function withoutEtcd(change: () => Promise<void>): Promise<void> {
    await killed(etcd.server);
    await change();
    etcd = await etcd.startAgain();
  }

  return {
    url: first.access.url,
    kubeconfig,
    caFile: join(directory, 'apiserver.crt'),
    adminToken,
    directory,
    get etcd() {
      return etcd.server;
    },
    etcdUrl: etcd.url,
    get apiServer() {
      return server;
    },
    request,
    async kubeconfigFor(subject) {
      const token = 'token' in subject ? subject.token : await issueToken(request, subject.serviceAccount);
      kubeconfigs += 1;
      return writeKubeconfig(join(directory, `${kubeconfigs}.kubeconfig`), { ...first.access, token });
    },
    async startScheduler(component) {
      return startComponent(await binary('kube-scheduler@1.36.3'), component, []);
    },
    async startControllerManager(component) {
      // One cheap controller is enough: the tests use only its leader election.
      const kindArgs = ['--controllers=namespace-controller'];
      return startComponent(await binary('kube-controller-manager@1.36.3'), component, kindArgs);
    },
    async startElectors(config = kubeconfig) {
      const electors = await startElectors(config);
      started.push(electors);
      return electors;
    },
    suspend: () => server.kill('SIGSTOP'),
    resume: () => server.kill('SIGCONT'),
    restartApiServer,
    async backUp() {
      const [data, copy] = [join(directory, 'etcd'), await mkdtemp(join(directory, 'backup-'))];
      await withoutEtcd(() => cp(data, copy, { recursive: true }));
      return async () => {
        await killed(server);
        await withoutEtcd(async () => {
          await rm(data, { recursive: true });
          await rename(copy, data);
        });
        await restartApiServer();
      };
    },
    async stop() {
      await Promise.all(started.map((each) => ('stop' in each ? each.stop() : killed(each))));
      await killed(server);
      await killed(etcd.server);
      await reaper.end();
    },
  };
}

function apiServerBinary({ version = defaultVersion }: ApiServerOptions): Promise<string> {
  return binary(`kube-apiserver@${version}`);
}

function startEtcd(path: string, site: Site): Promise<RunningEtcd> {
  return onFreePorts(2, async ([clientPort, peerPort]) => {
    const url = `http://127.0.0.1:${clientPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    const start = async (): Promise<RunningEtcd> => {
      const server = startServer(
        {
          name: 'etcd',
          path,
          logFile: join(site.directory, 'etcd.log'),
          args: etcdArgs({ dataDirectory: join(site.directory, 'etcd'), url, peerUrl }),
        },
        site.reaper,
      );
      const isHealthy = async () => (await fetch(`${url}/health`, { signal: AbortSignal.timeout(2_000) })).ok;
      await untilReady(server, isHealthy, site.readyWithinMs);
      return { server, url, startAgain: start };
    };
    return await start();
  });
}

async function startApiServer(
  path: string,
  options: ApiServerOptions,
  port: number,
  etcdUrl: string,
  site: Site,
): Promise<RunningApiServer> {
  const { directory, adminToken } = site;
  const url = `https://127.0.0.1:${port}`;
  const server = startServer(
    {
      name: 'kube-apiserver',
      path,
      logFile: join(directory, 'kube-apiserver.log'),
      args: apiServerArgs({ ...options, directory, port, etcdUrl }),
    },
    site.reaper,
  );
  let access: ApiAccess | undefined;
  const isReady = async () => {
    // Read for each use: the server writes its certificate and its CA into this file while it starts.
    const ca = await readFile(join(directory, 'apiserver.crt'), 'utf8');
    const asked = { url, token: adminToken, ca };
    // /readyz does not wait for the namespaces that the server creates and every test uses.
    for (const probe of ['/readyz', '/api/v1/namespaces/default', '/api/v1/namespaces/kube-system']) {
      if ((await apiRequest(asked, 'GET', probe)).status !== 200) return false;
    }
    access = asked;
    return true;
  };
  await untilReady(server, isReady, site.readyWithinMs);
  if (access === undefined) throw new Error('a kube-apiserver cannot be ready without having been asked');
  return { server, access };
}

/** Calls `start` with free ports, and again with other ports if another process has taken one. */
async function onFreePorts<T>(count: number, start: (ports: number[]) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(await freePorts(count));
    } catch (error) {
      const wasTaken =
        error instanceof NotReadyError && error.server.logs().includes('address already in use');
      if (!wasTaken || attempt === 5) throw error;
      await killed(error.server);
    }
  }
}

async function issueToken(
  request: ControlPlane['request'],
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: 3600 },
  };
  return (await request<{ status: { token: string } }>('POST', path, body)).status.token;
}

async function killed(server: ServerProcess): Promise<void> {
  server.kill('SIGKILL');
  await server.exited;
}
