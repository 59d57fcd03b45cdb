// A component with coordinated elections, as a program for a pod: it takes part in the election of the Lease that LEASE
// names, leads while it is elected, and lets go when it is told to end.

import { SampleCandidate } from '../../../src/demo/sample-candidate.ts';
import { createClient } from '../../../src/kubernetes/client.ts';
import { loadKubeConfig } from '../../../src/kubernetes/kubeconfig.ts';
import { systemClock as clock } from '../../../src/support/system-clock.ts';

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const namespace = variable('NAMESPACE');
const leaseName = variable('LEASE');
const kubeConfig = loadKubeConfig({ env: process.env });
const client = createClient({ kubeConfig, clock, userAgent: leaseName, connections: 4 });
const candidate = new SampleCandidate({
  client,
  clock,
  identity: {
    namespace,
    leaseName,
    name: variable('HOSTNAME'),
    binaryVersion: variable('VERSION'),
    emulationVersion: variable('VERSION'),
    strategy: process.env['STRATEGY'] ?? 'OldestEmulationVersion',
  },
  timing: {
    retryPeriodMs: 2000,
    renewDeadlineMs: 10_000,
    leaseDurationMs: 15_000,
    stoppingMs: 0,
  },
  onLeading: (isLeading) => console.log(isLeading ? 'leading' : 'no longer leading'),
});

async function end(): Promise<void> {
  await candidate.leave();
  process.exit();
}

process.once('SIGTERM', () => void end());
await candidate.start();
