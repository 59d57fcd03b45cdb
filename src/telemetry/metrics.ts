import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Clock } from '../support/clock.ts';
import { type ApiMetrics, createApiMetrics } from './api-metrics.ts';
import { createElectionMetrics, type ElectionMetrics } from './election-metrics.ts';
import { createEventMetrics, type EventMetrics } from './event-metrics.ts';
import { createLabelMetrics, type LabelMetrics } from './label-metrics.ts';
import { createLockMetrics, type LockMetrics } from './lock-metrics.ts';
import { createWriteQueueMetrics, type WriteQueueMetrics } from './request-metrics.ts';
import { createSurveyMetrics, type SurveyMetrics } from './survey-metrics.ts';
import { createWorkqueueMetrics, type WorkqueueMetrics } from './workqueue-metrics.ts';

/** Everything that is measured, in a registry of its own: nothing global, so that tests and replicas can stand side by side. */
export interface Metrics {
  /** Serves as the `metrics` of the HTTP server. */
  readonly registry: Registry;
  readonly workqueue: WorkqueueMetrics;
  readonly api: ApiMetrics;
  readonly requests: WriteQueueMetrics;
  readonly elections: ElectionMetrics;
  readonly survey: SurveyMetrics;
  readonly events: EventMetrics;
  readonly lock: LockMetrics;
  readonly labels: LabelMetrics;
}

/** How often the delay of the event loop is looked at, in milliseconds: each look wakes a process that has nothing to do. */
const LOOP_LOOK_MS = 50;

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
  return {
    registry,
    workqueue: createWorkqueueMetrics(registry),
    api: createApiMetrics(registry, clock),
    requests: createWriteQueueMetrics(registry),
    elections: createElectionMetrics(registry),
    survey: createSurveyMetrics(registry, clock),
    events: createEventMetrics(registry),
    lock: createLockMetrics(registry),
    labels: createLabelMetrics(registry),
  };
}

/** Adds what is measured of the process as a whole: memory, CPU, event-loop delay, garbage collection. Once per process. */
export function collectProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_LOOK_MS });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
}
