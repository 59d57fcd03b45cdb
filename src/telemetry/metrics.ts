import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Clock } from '../clock.ts';
import { type ApiMetrics, createApiMetrics } from './api-metrics.ts';
import { createElectionMetrics, type ElectionMetrics } from './election-metrics.ts';
import { createWorkqueueMetrics, type WorkqueueMetrics } from './workqueue-metrics.ts';

/** Everything that is measured, in a registry of its own: nothing global, so that tests and replicas can stand side by side. */
export interface Metrics {
  /** Serves as the `metrics` of the HTTP server. */
  readonly registry: Registry;
  readonly workqueue: WorkqueueMetrics;
  readonly api: ApiMetrics;
  readonly elections: ElectionMetrics;
  /** Says whether this process holds the lock called `name`. */
  lockHeld(name: string, isHeld: boolean): void;
}

// Gauges that prom-client names as only counters may be named.
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Makes the metrics of one controller. */
export function createMetrics({ version, clock }: { version: string; clock: Clock }): Metrics {
  const registry = new Registry();
  new Gauge({
    name: 'cle_build_info',
    help: 'Always 1; its label tells the version',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
  const masterStatus = new Gauge({
    name: 'leader_election_master_status',
    help: 'Whether this process holds the lock (1) or stands by (0)',
    labelNames: ['name'],
    registers: [registry],
  });
  return {
    registry,
    workqueue: createWorkqueueMetrics(registry),
    api: createApiMetrics(registry, clock),
    elections: createElectionMetrics(registry),
    lockHeld: (name, isHeld) => masterStatus.set({ name }, isHeld ? 1 : 0),
  };
}

/** Adds what is measured of the process as a whole: memory, CPU, event-loop delay, garbage collection. Once per process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
