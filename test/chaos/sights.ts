import { readFileSync } from 'node:fs';
import { coordinatorLease } from '../control-plane/cluster-objects.ts';
import { keyOf } from './cast.ts';
import type { ChaosCluster } from './chaos-cluster.ts';
import type { Client, Program } from './clients.ts';

/** Whether a program leads, according to its own output. */
export function leads({ process }: Program): boolean {
  const said = readFileSync(process.logFile, 'utf8');
  return said.includes('"event":"leads"') && !said.includes('"event":"follows"');
}

/** Returns the coordinator of ours that holds the lock and has begun to act. */
export function activeCoordinator(cluster: ChaosCluster): Client | undefined {
  const claim = `"state":"active","holder":"${lockHolder(cluster)}"`;
  return cluster.coordinators.find(({ process }) => readFileSync(process.logFile, 'utf8').includes(claim));
}

/** Whether the controller built into kube-apiserver holds the lock. */
export function isBuiltInCoordinator(cluster: ChaosCluster): boolean {
  const holder = lockHolder(cluster);
  return holder !== '' && !holder.startsWith('coordinated-leader-election_');
}

function lockHolder({ recorder }: ChaosCluster): string {
  return String(recorder.lease(keyOf(coordinatorLease))?.spec['holderIdentity'] ?? '');
}
