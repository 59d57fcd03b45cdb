import { apiRequest } from '../control-plane/api-request.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { createRole } from '../e2e/coordinator.ts';
import { API_SERVERS, testedLeases } from './cast.ts';
import { type Client, type Program, startCoordinators, startPrograms } from './clients.ts';
import { EtcdRecorder } from './etcd-recorder.ts';
import type { Journal } from './journal.ts';
import { type ApiServer, type Etcd, isGateOff, isServing, startApiServer, startEtcd } from './servers.ts';
import { prepareSite, type Site } from './site.ts';
import { until } from './until.ts';

/** All processes of a chaos run. */
export interface ChaosCluster {
  readonly etcd: Etcd;
  readonly apiServers: readonly ApiServer[];
  readonly coordinators: readonly Client[];
  readonly programs: readonly Program[];
  readonly recorder: EtcdRecorder;
  /**
   * Sends a request as the administrator; resolves to the first successful answer of an API server, undefined if
   * there is none.
   */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Whether every API server is ready, and has its gate on. */
  isReady(): Promise<boolean>;
  /** Whether an API server is ready, and has its gate off. */
  isGateOff(server: ApiServer): Promise<boolean>;
  /** Stops all of it, in any state. */
  stop(): Promise<void>;
}

interface ClusterOptions {
  /** The folder for the record of the run: logs, audit logs, the history of etcd. */
  readonly directory: string;
  readonly seed: number;
  readonly journal: Journal;
  /** The coordinator's program. */
  readonly coordinatorMain: string;
  readonly signal: AbortSignal;
}

/** Start timeout of a server, for a slow machine. */
const READY_WITHIN_MS = 120_000;

/** @throws Error if it cannot be started, or if the signal aborts first; then nothing is left behind */
export async function startChaosCluster(options: ClusterOptions): Promise<ChaosCluster> {
  const site = await prepareSite(options.directory, options.journal);
  try {
    return await startOn(site, options);
  } catch (error) {
    await site.clear();
    throw error;
  }
}

async function startOn(site: Site, options: ClusterOptions): Promise<ChaosCluster> {
  const { directory, journal, seed, coordinatorMain, signal } = options;
  const [etcdPort = 0, peerPort = 0, ...apiPorts] = await freePorts(2 + API_SERVERS.length);
  const etcd = await startEtcd(site, etcdPort, peerPort);
  const recorder = new EtcdRecorder(etcd.url, directory, (problem) =>
    journal.write({ kind: 'problem', problem }),
  );
  site.onClear(() => recorder.stop());
  const apiServers: ApiServer[] = [];
  for (const [index, name] of API_SERVERS.entries()) {
    const server = await startApiServer(site, name, apiPorts[index] ?? 0, etcd);
    apiServers.push(server);
    // One after the other: the first one creates the certificate that all use.
    await until(() => isServing(site, server), READY_WITHIN_MS, signal, `API server ${name} is ready`);
  }

  async function request(method: string, path: string, body?: unknown): Promise<unknown> {
    for (const { port } of apiServers) {
      const access = await site.accessTo(port);
      const answer = await apiRequest(access, method, path, body).catch(() => undefined);
      if (answer !== undefined && answer.status < 300) return JSON.parse(answer.text);
    }
    return undefined;
  }
  await createRole(request);
  for (const name of new Set(testedLeases.map(({ namespace }) => namespace))) {
    await request('POST', '/api/v1/namespaces', { metadata: { name } });
  }
  return {
    etcd,
    apiServers,
    coordinators: await startCoordinators(site, apiServers, coordinatorMain),
    programs: await startPrograms(site, apiServers, seed),
    recorder,
    request,
    isReady: async () =>
      (await Promise.all(apiServers.map((server) => isServing(site, server)))).every(Boolean),
    isGateOff: (server) => isGateOff(site, server),
    stop: () => site.clear(),
  };
}
