import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { QueueEvent } from '../controller/controller-event.ts';
import { type RequestRoom, URGENCIES } from '../controller/order-and-limit.ts';

/** Metrics of the scheduler: due Leases, and Leases that wait for a free slot to write. */
export interface SchedulerMetrics {
  observe(event: QueueEvent): void;
  /** Sets the scheduler whose state is read for each scrape. */
  watch(scheduler: {
    readonly depth: number;
    readonly room: Pick<RequestRoom, 'limit' | 'inFlight' | 'waiting'>;
  }): void;
}

const BUCKETS_SECONDS = [0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** The label of the `workqueue_*` metrics. Dashboards for Kubernetes controllers expect these names. */
const QUEUE = { name: 'leases' };

/** Registers the metrics of the scheduler in `registry`. */
export function createSchedulerMetrics(registry: Registry): SchedulerMetrics {
  const registers = [registry];
  const queue = { labelNames: ['name'] as const, registers };
  let watched: Parameters<SchedulerMetrics['watch']>[0] | undefined;

  new Gauge({
    ...queue,
    name: 'workqueue_depth',
    help: 'Keys that wait to be processed',
    collect() {
      this.set(QUEUE, watched?.depth ?? 0);
    },
  });
  const adds = new Counter({
    ...queue,
    name: 'workqueue_adds_total',
    help: 'Keys added that were not waiting already, once they are processed',
  });
  const retries = new Counter({
    ...queue,
    name: 'workqueue_retries_total',
    help: 'Keys put back with backoff',
  });
  const queueSeconds = new Histogram({
    ...queue,
    name: 'workqueue_queue_duration_seconds',
    help: 'How long keys waited before they were processed',
    buckets: BUCKETS_SECONDS,
  });
  const workSeconds = new Histogram({
    ...queue,
    name: 'workqueue_work_duration_seconds',
    help: 'How long the processing of keys took',
    buckets: BUCKETS_SECONDS,
  });
  new Gauge({
    name: 'cle_request_limit',
    help: 'How many requests may be under way to the API server at once; it follows how fast the server answers',
    registers,
    collect() {
      if (watched) this.set(watched.room.limit);
    },
  });
  new Gauge({
    name: 'cle_requests_under_way',
    help: 'Requests that are under way to the API server',
    registers,
    collect() {
      if (watched) this.set(watched.room.inFlight);
    },
  });
  new Gauge({
    name: 'cle_leases_waiting_to_write',
    help: 'Leases that wait for their turn to write to the API server, by what for',
    labelNames: ['urgency'],
    registers,
    collect() {
      const waiting = watched?.room.waiting();
      for (const urgency of URGENCIES) this.set({ urgency }, waiting?.[urgency] ?? 0);
    },
  });
  const waitSeconds = new Histogram({
    name: 'cle_write_wait_seconds',
    help: 'How long Leases waited for their turn to write to the API server, by what for',
    labelNames: ['urgency'],
    buckets: WAIT_BUCKETS_SECONDS,
    registers,
  });
  // Before the first use, the metric must show zero instead of no series.
  adds.inc(QUEUE, 0);
  retries.inc(QUEUE, 0);
  for (const urgency of URGENCIES) waitSeconds.zero({ urgency });

  return {
    observe(event) {
      switch (event.type) {
        case 'processed':
          adds.inc(QUEUE);
          queueSeconds.observe(QUEUE, event.waitedMs / 1000);
          workSeconds.observe(QUEUE, event.workMs / 1000);
          break;
        case 'decisionFailed':
          retries.inc(QUEUE);
          break;
        case 'sending':
          waitSeconds.observe({ urgency: event.urgency }, event.waitedMs / 1000);
          break;
      }
    },
    watch(scheduler) {
      watched = scheduler;
    },
  };
}
