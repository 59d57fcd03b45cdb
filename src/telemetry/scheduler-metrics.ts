import type { Registry } from 'prom-client';
import type { EventOf } from '../controller/controller-event.ts';
import { URGENCIES } from '../controller/order-and-limit.ts';
import { instrumentsOf, type ScrapeSources } from './instruments.ts';

const BUCKETS_SECONDS = [0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];
/** The label that dashboards for Kubernetes controllers expect on the `workqueue_*` metrics. */
const QUEUE = { name: 'leases' };
const QUEUES = { name: ['leases'] };

/** Registers the metrics of the scheduler: due Leases, and Leases that wait for a free slot to write. */
export function createSchedulerMetrics(registry: Registry, sources: ScrapeSources) {
  const { counter, gauge, histogram } = instrumentsOf(registry);
  gauge('workqueue_depth', 'Keys that wait to be processed', ['name'], (depth) =>
    depth.set(QUEUE, sources.scheduler?.depth ?? 0),
  );
  const adds = counter(
    'workqueue_adds_total',
    'Keys added that were not already queued; counted when they are processed',
    QUEUES,
  );
  const retries = counter(
    'workqueue_retries_total',
    'Keys queued again with backoff after a failure',
    QUEUES,
  );
  const queueSeconds = histogram(
    'workqueue_queue_duration_seconds',
    'Time that keys waited before they were processed',
    BUCKETS_SECONDS,
    QUEUES,
  );
  const workSeconds = histogram(
    'workqueue_work_duration_seconds',
    'Time that it took to process keys',
    BUCKETS_SECONDS,
    QUEUES,
  );
  gauge(
    'cle_request_limit',
    'Maximum requests in flight to the API server; adapts to its latency',
    [],
    (limit) => limit.set(sources.scheduler?.room.limit ?? 0),
  );
  gauge('cle_requests_under_way', 'Requests in flight to the API server', [], (inFlight) =>
    inFlight.set(sources.scheduler?.room.inFlight ?? 0),
  );
  gauge(
    'cle_leases_waiting_to_write',
    'Leases that wait for a free request slot to write to the API server, by urgency',
    ['urgency'],
    (leases) => {
      const waiting = sources.scheduler?.room.waiting();
      for (const urgency of URGENCIES) leases.set({ urgency }, waiting?.[urgency] ?? 0);
    },
  );
  const waitSeconds = histogram(
    'cle_write_wait_seconds',
    'Time that Leases waited for a free request slot to write to the API server, by urgency',
    WAIT_BUCKETS_SECONDS,
    { urgency: URGENCIES },
  );
  return {
    processed({ waitedMs, workMs }: Omit<EventOf<'processed'>, 'type'>): void {
      adds.inc(QUEUE);
      queueSeconds.observe(QUEUE, waitedMs / 1000);
      workSeconds.observe(QUEUE, workMs / 1000);
    },
    decisionFailed: () => retries.inc(QUEUE),
    sending: ({ urgency, waitedMs }: Omit<EventOf<'sending'>, 'type'>) =>
      waitSeconds.observe({ urgency }, waitedMs / 1000),
  };
}
