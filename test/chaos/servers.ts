import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiRequest } from '../control-plane/api-request.ts';
import { binary } from '../control-plane/binaries.ts';
import { apiServerArgs, etcdArgs } from '../control-plane/server-args.ts';
import { auditLogName, auditPolicy } from './audited-writes.ts';
import type { Link } from './link.ts';
import type { Site } from './site.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** A kube-apiserver, with its own link to etcd. */
export interface ApiServer {
  readonly process: SupervisedProcess;
  readonly port: number;
  readonly etcdLink: Link;
  /** Whether its feature gate is on at its next start. */
  isGateOn: boolean;
}

export interface Etcd {
  readonly process: SupervisedProcess;
  readonly port: number;
  readonly url: string;
}

/** Starts an etcd, without waiting until it is ready. */
export async function startEtcd(site: Site, port: number, peerPort: number): Promise<Etcd> {
  const url = `http://127.0.0.1:${port}`;
  const command = {
    name: 'etcd',
    path: await binary('etcd'),
    logFile: join(site.record, 'etcd.log'),
    args: etcdArgs({
      dataDirectory: join(site.work, 'etcd'),
      url,
      peerUrl: `http://127.0.0.1:${peerPort}`,
    }),
  };
  const nextLife = () => ({ facts: { name: 'etcd' }, command });
  return { port, url, process: site.supervise({ role: 'etcd', pauseMs: () => 200, nextLife }) };
}

/** Starts a kube-apiserver on an etcd, without waiting until it is ready. */
export async function startApiServer(site: Site, name: string, port: number, etcd: Etcd): Promise<ApiServer> {
  const path = await binary('kube-apiserver@1.36.3');
  const etcdLink = await site.link(etcd.port);
  const policyFile = join(site.work, 'audit-policy.json');
  await writeFile(policyFile, JSON.stringify(auditPolicy));
  const gate = { isOn: true };
  const nextLife = () => ({
    facts: { name },
    command: {
      name,
      path,
      logFile: join(site.record, `api-server-${name}.log`),
      args: apiServerArgs({
        directory: site.work,
        port,
        etcdUrl: `http://127.0.0.1:${etcdLink.port}`,
        coordinatedLeaderElection: gate.isOn,
        extraApiServerArgs: [
          `--audit-policy-file=${policyFile}`,
          `--audit-log-path=${join(site.record, auditLogName(name))}`,
          // Written before the response: every answered request is in the log.
          '--audit-log-mode=blocking',
          // So that the recorder can read etcd.
          '--storage-media-type=application/json',
        ],
      }),
    },
  });
  const process = site.supervise({ role: 'apiServer', pauseMs: () => 200, nextLife });
  return {
    process,
    port,
    etcdLink,
    get isGateOn() {
      return gate.isOn;
    },
    set isGateOn(isOn) {
      gate.isOn = isOn;
    },
  };
}

/** Whether an API server answers a request of the administrator with success. */
async function isOk(site: Site, { port }: ApiServer, path: string): Promise<boolean> {
  try {
    return (await apiRequest(await site.accessTo(port), 'GET', path)).status === 200;
  } catch {
    return false;
  }
}

/** Whether an API server is ready, and serves LeaseCandidates. */
export async function isServing(site: Site, server: ApiServer): Promise<boolean> {
  return (
    (await isOk(site, server, '/readyz')) &&
    (await isOk(site, server, '/api/v1/namespaces/kube-system')) &&
    (await isOk(site, server, '/apis/coordination.k8s.io/v1beta1/leasecandidates?limit=1'))
  );
}

/** Whether an API server is ready, and does not serve LeaseCandidates. */
export async function isGateOff(site: Site, server: ApiServer): Promise<boolean> {
  return (
    (await isOk(site, server, '/readyz')) && !(await isOk(site, server, '/apis/coordination.k8s.io/v1beta1'))
  );
}
