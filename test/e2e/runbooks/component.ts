// A component with coordinated elections, as a program for a pod: it takes part in the election of the Lease in the
// variable LEASE, leads while it is elected, and releases when it is asked to exit.

import { participate } from '../../../src/index.ts';

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const { STRATEGY: strategy = 'OldestEmulationVersion', ZONE: zone = '' } = process.env;
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

await participate(
  {
    namespace: variable('NAMESPACE'),
    lease: variable('LEASE'),
    identity: variable('HOSTNAME'),
    binaryVersion: variable('VERSION'),
    strategy,
    ...(zone !== '' && { labels: { 'topology.kubernetes.io/zone': zone } }),
    signal: stopping.signal,
  },
  async ({ signal }) => {
    console.log('leading');
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    console.log('no longer leading');
  },
);
