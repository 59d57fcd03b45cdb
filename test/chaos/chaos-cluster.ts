import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiAccess, apiRequest } from '../control-plane/api-request.ts';
import { binary } from '../control-plane/binaries.ts';
import { coordinatorAccount } from '../control-plane/cluster-objects.ts';
import { freePorts } from '../control-plane/free-port.ts';
import { writeKubeconfig } from '../control-plane/kubeconfig.ts';
import { startReaper } from '../control-plane/reaper.ts';
import { apiServerArgs, etcdArgs, writeServerCredentials } from '../control-plane/server-args.ts';
import { createRole } from '../e2e/coordinator.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { auditLogName, auditPolicy } from './audited-writes.ts';
import {
  API_SERVERS,
  BINARY_VERSION,
  COORDINATORS,
  EMULATION_VERSIONS,
  keyOf,
  PROGRAMS_PER_LEASE,
  type TestedLease,
  testedLeases,
} from './cast.ts';
import { EtcdRecorder } from './etcd-recorder.ts';
import type { Journal } from './journal.ts';
import { Link } from './link.ts';
import { SupervisedProcess } from './supervised-process.ts';

/** A kube-apiserver, and its own link to etcd. */
export interface ApiServer {
  readonly process: SupervisedProcess;
  readonly port: number;
  readonly etcdLink: Link;
  /** Whether its feature gate is on when it starts the next time. */
  isGateOn: boolean;
}

/** A coordinator or a candidate, and its own link to an API server. */
export interface Client {
  readonly process: SupervisedProcess;
  readonly link: Link;
}

/** One of those that compete for a Lease. */
export interface Program extends Client {
  readonly lease: TestedLease;
  /** Of its present life. */
  readonly emulationVersion: () => string;
}

/** Everything that chaos is made of; all of it runs. */
export interface ChaosCluster {
  readonly etcd: SupervisedProcess;
  readonly etcdUrl: string;
  readonly apiServers: readonly ApiServer[];
  readonly coordinators: readonly Client[];
  readonly programs: readonly Program[];
  readonly recorder: EtcdRecorder;
  /** One request as the administrator to the first API server that answers; undefined if none does. */
  request(method: string, path: string, body?: unknown): Promise<unknown>;
  /** Whether every API server is ready, and has its gate on. */
  isReady(): Promise<boolean>;
  /** Whether an API server answers, and does not serve LeaseCandidates. */
  isGateOff(server: ApiServer): Promise<boolean>;
  /** Ends all of it, whatever state it is in. */
  stop(): Promise<void>;
}

interface ClusterOptions {
  /** Where the record of the run is kept: logs, audit logs, the history of etcd. */
  readonly directory: string;
  readonly seed: number;
  readonly journal: Journal;
  /** The coordinator's program. */
  readonly coordinatorMain: string;
  readonly signal: AbortSignal;
}

/** How long the servers may take at the beginning, on a slow machine. */
const READY_WITHIN_MS = 120_000;

/** @throws Error when it cannot be started, or the signal is aborted before it is; nothing is left behind then. */
export async function startChaosCluster(options: ClusterOptions): Promise<ChaosCluster> {
  const binaries = {
    etcd: await binary('etcd'),
    apiServer: await binary('kube-apiserver@1.36.3'),
    candidate: await binary('candidate'),
  };
  const { directory, journal, signal } = options;
  const work = await mkdtemp(join(tmpdir(), 'chaos-servers-'));
  const reaper = startReaper(work);
  const closers: (() => Promise<unknown>)[] = [() => reaper.end()];
  const stop = async () => {
    for (const close of closers.toReversed()) await close();
    closers.length = 0;
  };
  const random = seededRandom(options.seed);

  function supervise(
    ...[more]: [Omit<ConstructorParameters<typeof SupervisedProcess>[0], 'reaper' | 'journal'>]
  ) {
    const process = new SupervisedProcess({ reaper, journal, ...more });
    closers.push(() => process.stop());
    return process;
  }

  async function link(port: number): Promise<Link> {
    const proxy = await Link.start(port);
    closers.push(() => proxy.close());
    return proxy;
  }

  try {
    const [etcdPort = 0, peerPort = 0, ...apiPorts] = await freePorts(2 + API_SERVERS.length);
    const adminToken = randomBytes(16).toString('hex');
    const candidateToken = randomBytes(16).toString('hex');
    const coordinatorTokens = Array.from({ length: COORDINATORS }, () => randomBytes(16).toString('hex'));
    const { namespace, name } = coordinatorAccount;
    await writeServerCredentials(work, [
      `${adminToken},admin,admin,"system:masters"`,
      `${candidateToken},candidate,candidate,"system:masters"`,
      // All are the one ServiceAccount, and have its rights; the audit log tells them apart by their uids.
      ...coordinatorTokens.map(
        (token, index) =>
          `${token},system:serviceaccount:${namespace}:${name},coordinator-${index},"system:serviceaccounts"`,
      ),
    ]);
    const policyFile = join(work, 'audit-policy.json');
    await writeFile(policyFile, JSON.stringify(auditPolicy));

    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const etcd = supervise({
      role: 'etcd',
      pauseMs: () => 200,
      nextLife: () => ({
        facts: { name: 'etcd' },
        command: {
          name: 'etcd',
          path: binaries.etcd,
          logFile: join(directory, 'etcd.log'),
          args: etcdArgs({
            dataDirectory: join(work, 'etcd'),
            url: etcdUrl,
            peerUrl: `http://127.0.0.1:${peerPort}`,
          }),
        },
      }),
    });
    const recorder = new EtcdRecorder(etcdUrl, directory, (problem) =>
      journal.write({ kind: 'problem', problem }),
    );
    closers.push(() => recorder.stop());

    const apiServers: ApiServer[] = [];
    async function accessTo(port: number): Promise<ApiAccess> {
      // Read anew each time: the first server writes it while it starts.
      const ca = await readFile(join(work, 'apiserver.crt'), 'utf8');
      return { url: `https://127.0.0.1:${port}`, ca, token: adminToken };
    }
    async function isOk(server: ApiServer, path: string): Promise<boolean> {
      return accessTo(server.port)
        .then((access) => apiRequest(access, 'GET', path))
        .then(
          ({ status }) => status === 200,
          () => false,
        );
    }
    const isServing = async (server: ApiServer) =>
      (await isOk(server, '/readyz')) &&
      (await isOk(server, '/api/v1/namespaces/kube-system')) &&
      (await isOk(server, '/apis/coordination.k8s.io/v1beta1/leasecandidates?limit=1'));

    for (const [index, port] of apiPorts.entries()) {
      const etcdLink = await link(etcdPort);
      const serverName = API_SERVERS[index] ?? '';
      const server: ApiServer = {
        port,
        etcdLink,
        isGateOn: true,
        process: supervise({
          role: 'apiServer',
          pauseMs: () => 200,
          nextLife: () => ({
            facts: { name: serverName },
            command: {
              name: serverName,
              path: binaries.apiServer,
              logFile: join(directory, `api-server-${serverName}.log`),
              args: apiServerArgs({
                directory: work,
                port,
                etcdUrl: `http://127.0.0.1:${etcdLink.port}`,
                // At first there is no server yet, and its gate is on.
                coordinatedLeaderElection: apiServers[index]?.isGateOn ?? true,
                extraApiServerArgs: [
                  `--audit-policy-file=${policyFile}`,
                  `--audit-log-path=${join(directory, auditLogName(serverName))}`,
                  // Written before the request is answered: what was answered is in the log.
                  '--audit-log-mode=blocking',
                  // So that the recorder can read it.
                  '--storage-media-type=application/json',
                ],
              }),
            },
          }),
        }),
      };
      apiServers.push(server);
      // One after the other: the first makes the certificate that both use.
      await until(() => isServing(server), READY_WITHIN_MS, signal, `API server ${serverName} is ready`);
    }

    async function request(method: string, path: string, body?: unknown): Promise<unknown> {
      for (const { port } of apiServers) {
        const answer = await apiRequest(await accessTo(port), method, path, body).catch(() => undefined);
        if (answer !== undefined && answer.status < 300) return JSON.parse(answer.text);
      }
      return undefined;
    }
    await createRole((method, path, body) => request(method, path, body));
    for (const each of new Set(testedLeases.map((lease) => lease.namespace))) {
      await request('POST', '/api/v1/namespaces', { metadata: { name: each } });
    }

    async function connect(
      index: number,
      token: string,
      file: string,
    ): Promise<{ link: Link; kubeconfig: string }> {
      const proxy = await link(apiServers[index % apiServers.length]?.port ?? 0);
      const access = { ...(await accessTo(proxy.port)), token };
      return { link: proxy, kubeconfig: await writeKubeconfig(join(work, file), access) };
    }

    const coordinators: Client[] = [];
    for (const [index, token] of coordinatorTokens.entries()) {
      const own = `coordinator-${index}`;
      const connection = await connect(index, token, `${own}.kubeconfig`);
      let lives = 0;
      const nextLife = () => {
        lives += 1;
        return {
          facts: { name: own },
          command: {
            name: own,
            path: process.execPath,
            logFile: join(directory, `${own}-${lives}.log`),
            args: [
              options.coordinatorMain,
              'run',
              `--kubeconfig=${connection.kubeconfig}`,
              '--listen=127.0.0.1:0',
              '--log-level=debug',
            ],
          },
        };
      };
      coordinators.push({
        link: connection.link,
        process: supervise({ role: 'coordinator', pauseMs: () => 300, nextLife }),
      });
    }

    const programs: Program[] = [];
    for (const [index, lease] of testedLeases.entries()) {
      for (let slot = 0; slot < PROGRAMS_PER_LEASE; slot += 1) {
        const place = `${lease.namespace}-${lease.name}-${slot}`;
        const connection = await connect(index + slot, candidateToken, `${place}.kubeconfig`);
        const draw = seededRandom(random() * 2 ** 32);
        let lives = 0;
        let identity = '';
        let emulationVersion = '';
        const nextLife = () => {
          lives += 1;
          // Some come back under their old name, as a StatefulSet's pods do, others under a new one.
          if (lives === 1 || draw() < 0.5) {
            identity = `${place}-${lives}`;
            emulationVersion = EMULATION_VERSIONS[Math.floor(draw() * EMULATION_VERSIONS.length)] ?? '';
          }
          return {
            facts: { name: identity, lease: keyOf(lease), leaseDurationMs: lease.timing.leaseDurationMs },
            command: {
              name: identity,
              path: binaries.candidate,
              logFile: join(directory, `candidate-${place}-${lives}.log`),
              args: [
                `--kubeconfig=${connection.kubeconfig}`,
                `--namespace=${lease.namespace}`,
                `--lease=${lease.name}`,
                `--name=${identity}`,
                `--binary-version=${BINARY_VERSION}`,
                `--emulation-version=${emulationVersion}`,
                `--lease-duration=${lease.timing.leaseDurationMs}ms`,
                `--renew-deadline=${lease.timing.renewDeadlineMs}ms`,
                `--retry-period=${lease.timing.retryPeriodMs}ms`,
              ],
            },
          };
        };
        programs.push({
          lease,
          link: connection.link,
          emulationVersion: () => emulationVersion,
          process: supervise({ role: 'candidate', pauseMs: () => 200 + 5_000 * draw(), nextLife }),
        });
      }
    }

    return {
      etcd,
      etcdUrl,
      apiServers,
      coordinators,
      programs,
      recorder,
      request,
      isGateOff: async (server) =>
        (await isOk(server, '/readyz')) && !(await isOk(server, '/apis/coordination.k8s.io/v1beta1')),
      isReady: async () => (await Promise.all(apiServers.map(isServing))).every(Boolean),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @throws Error when it is not so in time, or the signal is aborted. */
export async function until(
  isSo: () => Promise<boolean> | boolean,
  withinMs: number,
  signal: AbortSignal,
  what: string,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await isSo())) {
    signal.throwIfAborted();
    if (performance.now() > deadline) throw new Error(`not within ${withinMs / 1000} s: ${what}`);
    await sleep(100);
  }
}
