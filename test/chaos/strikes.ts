import { candidatePath, leasePath } from '../control-plane/cluster-objects.ts';
import { keyOf, testedLeases } from './cast.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import type { Client, Program } from './clients.ts';
import { type Fault, type FaultKind, type LinkManner, linkManners } from './fault-plan.ts';
import type { Link } from './link.ts';
import type { ApiServer } from './servers.ts';
import { activeCoordinator, isBuiltInCoordinator } from './sights.ts';
import type { SupervisedProcess } from './supervised-process.ts';

/** A fault that has begun. */
export interface Strike {
  readonly victim: string;
  /** Ends the fault. Resolves to whether it had any effect. */
  end(): Promise<boolean> | boolean;
}

type Striker = (cluster: ChaosCluster, fault: Fault) => Strike | Promise<Strike>;

/** So slow that a list times out in every request, and a single renewal takes a second. */
const BYTES_PER_SECOND = 2_000;

export function strike(cluster: ChaosCluster, fault: Fault): Strike | Promise<Strike> {
  return strikers[fault.kind](cluster, fault);
}

/** After all faults have ended, repairs what is left: links, suspended processes, gates, missing LeaseCandidates. */
export function mendAll({ etcd, apiServers, coordinators, programs, recorder }: ChaosCluster): void {
  for (const server of apiServers) {
    server.etcdLink.mend();
    // No fault leaves a gate off, but a failed one may.
    if (!server.isGateOn) setGate(server, true);
  }
  for (const { link } of [...coordinators, ...programs]) link.mend();
  for (const { process } of [etcd, ...apiServers, ...coordinators, ...programs]) {
    process.signal('SIGCONT');
  }
  for (const { lease, process } of programs) {
    // client-go would publish a deleted candidate again after up to 5 min; a new process does so at once.
    if (!recorder.candidate(`${lease.namespace}/${process.name}`)) process.signal('SIGKILL');
  }
}

const strikers: Readonly<Record<FaultKind, Striker>> = {
  'candidate killed': (cluster, fault) => killed(programOf(cluster, fault).process),
  'candidate terminated': (cluster, fault) => instant(programOf(cluster, fault).process, 'SIGTERM'),
  'candidate frozen': (cluster, fault) => frozen(programOf(cluster, fault).process),
  'candidate rerouted': (cluster, fault) => rerouted(cluster, programOf(cluster, fault)),
  ...linkStrikers('candidate', (cluster, fault) => linkOf(programOf(cluster, fault))),
  'LeaseCandidate deleted': async (cluster, fault) => {
    const { lease, process } = programOf(cluster, fault);
    const path = candidatePath({ namespace: lease.namespace, name: process.name });
    return done(process.name, (await cluster.request('DELETE', path)) !== undefined);
  },
  'Lease deleted': (cluster, fault) => vandalised(cluster, fault, 'DELETE'),
  'Lease emptied': (cluster, fault) => vandalised(cluster, fault, 'PATCH', { holderIdentity: '' }),
  'Lease stripped': (cluster, fault) =>
    vandalised(cluster, fault, 'PATCH', { holderIdentity: '', renewTime: null, acquireTime: null }),

  'coordinator killed': (cluster, fault) => away([coordinatorOf(cluster, fault).process], 'SIGKILL'),
  'coordinator terminated': (cluster, fault) => away([coordinatorOf(cluster, fault).process], 'SIGTERM'),
  'coordinator frozen': (cluster, fault) => frozen(coordinatorOf(cluster, fault).process),
  'coordinator rerouted': (cluster, fault) => rerouted(cluster, coordinatorOf(cluster, fault)),
  ...linkStrikers('coordinator', (cluster, fault) => linkOf(coordinatorOf(cluster, fault))),

  'etcd killed': ({ etcd }) => away([etcd.process], 'SIGKILL'),
  'etcd frozen': ({ etcd }) => frozen(etcd.process),
  'etcd compacted': (cluster) => compacted(cluster),
  'API server killed': (cluster, fault) => away([serverOf(cluster, fault).process], 'SIGKILL'),
  'API server frozen': (cluster, fault) => frozen(serverOf(cluster, fault).process),
  ...linkStrikers('API server', (cluster, fault) => {
    const { process, etcdLink } = serverOf(cluster, fault);
    return [process.name, etcdLink];
  }),
  'gate off': (cluster) => gateOff(cluster, cluster.apiServers),
  'gate off at one': (cluster, fault) => gateOff(cluster, [serverOf(cluster, fault)]),
  'coordinators away': (cluster) => {
    const { end, victim } = away(
      cluster.coordinators.map(({ process }) => process),
      'SIGKILL',
    );
    return { victim, end: () => [isBuiltInCoordinator(cluster), end()].every(Boolean) };
  },
};

function pick<T>(all: readonly T[], victim: number): T {
  const picked = all[Math.floor(victim * all.length)];
  if (picked === undefined) throw new Error('there is nobody to strike');
  return picked;
}

/** A fault that targets a leader strikes the running leader of the Lease that the random number selects. */
function programOf({ programs, recorder }: ChaosCluster, { victim, isAimed }: Fault): Program {
  const picked = pick(programs, victim);
  if (!isAimed) return picked;
  const holder = recorder.lease(keyOf(picked.lease))?.spec['holderIdentity'];
  return programs.find(({ process }) => process.name === holder) ?? picked;
}

function coordinatorOf(cluster: ChaosCluster, { victim, isAimed }: Fault): Client {
  const picked = pick(cluster.coordinators, victim);
  if (!isAimed) return picked;
  return activeCoordinator(cluster) ?? picked;
}

function serverOf({ apiServers }: ChaosCluster, { victim }: Fault): ApiServer {
  return pick(apiServers, victim);
}

function linkOf({ process, link }: Client): readonly [string, Link] {
  return [process.name, link];
}

function done(victim: string, struck: boolean): Strike {
  return { victim, end: () => struck };
}

function instant(process: SupervisedProcess, signal: 'SIGKILL' | 'SIGTERM'): Strike {
  return done(process.name, process.signal(signal));
}

function killed(process: SupervisedProcess): Strike {
  return instant(process, 'SIGKILL');
}

/** The coordinators exit, and come back when the fault is over. */
function away(processes: readonly SupervisedProcess[], signal: 'SIGKILL' | 'SIGTERM'): Strike {
  const ran = processes.map((process) => {
    process.keepAway();
    return process.signal(signal);
  });
  return {
    victim: processes.map(({ name }) => name).join(', '),
    end() {
      for (const process of processes) process.bringBack();
      // Another fault may have stopped one of them.
      return ran.some(Boolean);
    },
  };
}

function frozen(process: SupervisedProcess): Strike {
  const ran = process.signal('SIGSTOP');
  return { victim: process.name, end: () => process.signal('SIGCONT') && ran };
}

function rerouted({ apiServers }: ChaosCluster, { process, link }: Client): Strike {
  const before = link.counts.resets;
  link.leadTo(apiServers.find(({ port }) => port !== link.target)?.port ?? link.target);
  link.reset();
  return done(process.name, link.counts.resets > before);
}

function linkStrikers<Owner extends string>(
  owner: Owner,
  linkFor: (cluster: ChaosCluster, fault: Fault) => readonly [string, Link],
): Record<`${Owner} link ${LinkManner}`, Striker> {
  const entries = linkManners.map((manner) => [
    `${owner} link ${manner}`,
    (cluster: ChaosCluster, fault: Fault) => disturbed(...linkFor(cluster, fault), manner),
  ]);
  return Object.fromEntries(entries) as Record<`${Owner} link ${LinkManner}`, Striker>;
}

function disturbed(victim: string, link: Link, manner: LinkManner): Strike {
  const before = link.counts;
  if (manner === 'reset') link.cut();
  else if (manner === 'stalled') link.hold('requests', 'answers');
  else if (manner === 'requests held') link.hold('requests');
  else if (manner === 'answers held') link.hold('answers');
  else link.throttle(BYTES_PER_SECOND);
  return {
    victim,
    end() {
      const { resets, delays } = link.counts;
      link.mend();
      return resets > before.resets || delays > before.delays;
    },
  };
}

async function vandalised(
  { request }: ChaosCluster,
  { victim }: Fault,
  method: 'DELETE' | 'PATCH',
  spec?: Readonly<Record<string, unknown>>,
): Promise<Strike> {
  const lease = pick(testedLeases, victim);
  const answer = await request(method, leasePath(lease), spec && { spec });
  return done(keyOf(lease), answer !== undefined);
}

/** etcd compacts its history while the API servers receive nothing: they cannot resume their watches. */
function compacted({ apiServers, etcd, recorder }: ChaosCluster): Strike {
  for (const { etcdLink } of apiServers) etcdLink.hold('requests', 'answers');
  return {
    victim: 'etcd',
    async end() {
      try {
        const { ok } = await fetch(`${etcd.url}/v3/kv/compaction`, {
          method: 'POST',
          body: JSON.stringify({ revision: recorder.revision, physical: true }),
          signal: AbortSignal.timeout(10_000),
        });
        return ok;
      } finally {
        for (const { etcdLink } of apiServers) {
          etcdLink.reset();
          etcdLink.mend();
        }
      }
    },
  };
}

function gateOff({ isGateOff }: ChaosCluster, servers: readonly ApiServer[]): Strike {
  for (const server of servers) setGate(server, false);
  return {
    victim: servers.map(({ process }) => process.name).join(', '),
    async end() {
      const wereOff = await Promise.all(servers.map(isGateOff));
      for (const server of servers) setGate(server, true);
      return wereOff.every(Boolean);
    },
  };
}

function setGate(server: ApiServer, isGateOn: boolean): void {
  server.isGateOn = isGateOn;
  server.process.signal('SIGKILL');
}
