import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { URGENCIES, type Urgency } from '../controller/queue/order-and-limit.ts';
import type { WriteQueue, WriteQueueObserver } from '../controller/queue/write-queue.ts';

/** Events of a workqueue. */
interface WorkqueueEvents {
  depth(keys: number): void;
  added(): void;
  retried(): void;
  queueDuration(ms: number): void;
  workDuration(ms: number): void;
}

/** State of a workqueue, read for each scrape. */
interface WorkqueueProgress {
  unfinishedWorkMs(): number;
  longestRunningMs(): number;
}

/** The `workqueue_*` metrics, with the names and labels that dashboards for Kubernetes controllers expect. */
export interface WorkqueueMetrics {
  /** Returns the observer for a queue. */
  observer(name: string): WorkqueueEvents;
  /** Sets the queue whose state is read. */
  watch(name: string, queue: WorkqueueProgress): void;
}

const BUCKETS_SECONDS = [0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Registers the workqueue metrics in `registry`. */
export function createWorkqueueMetrics(registry: Registry): WorkqueueMetrics {
  const queues = new Map<string, WorkqueueProgress>();
  const common = { labelNames: ['name'] as const, registers: [registry] };

  const depth = new Gauge({ ...common, name: 'workqueue_depth', help: 'Keys that wait to be processed' });
  const adds = new Counter({
    ...common,
    name: 'workqueue_adds_total',
    help: 'Keys added that were not waiting already',
  });
  const retries = new Counter({
    ...common,
    name: 'workqueue_retries_total',
    help: 'Keys put back with backoff',
  });
  const queueSeconds = new Histogram({
    ...common,
    name: 'workqueue_queue_duration_seconds',
    help: 'How long keys waited before they were processed',
    buckets: BUCKETS_SECONDS,
  });
  const workSeconds = new Histogram({
    ...common,
    name: 'workqueue_work_duration_seconds',
    help: 'How long the processing of keys took',
    buckets: BUCKETS_SECONDS,
  });
  new Gauge({
    ...common,
    name: 'workqueue_unfinished_work_seconds',
    help: 'How long all keys that are being processed have taken so far, added up',
    collect() {
      for (const [name, queue] of queues) this.set({ name }, queue.unfinishedWorkMs() / 1000);
    },
  });
  new Gauge({
    ...common,
    name: 'workqueue_longest_running_processor_seconds',
    help: 'How long the longest processing under way has taken so far',
    collect() {
      for (const [name, queue] of queues) this.set({ name }, queue.longestRunningMs() / 1000);
    },
  });

  return {
    observer(name) {
      const labels = { name };
      // An unused queue must show zero, not a missing series.
      depth.set(labels, 0);
      adds.inc(labels, 0);
      retries.inc(labels, 0);
      return {
        depth: (keys) => depth.set(labels, keys),
        added: () => adds.inc(labels),
        retried: () => retries.inc(labels),
        queueDuration: (ms) => queueSeconds.observe(labels, ms / 1000),
        workDuration: (ms) => workSeconds.observe(labels, ms / 1000),
      };
    },
    watch: (name, queue) => {
      queues.set(name, queue);
    },
  };
}

/** Metrics of the queue of writes. */
export interface WriteQueueMetrics extends WriteQueueObserver {
  /** Sets the queue whose state is read. */
  watch(queue: Pick<WriteQueue, 'limit' | 'inFlight' | 'waiting'>): void;
  /** A Lease was dequeued after `ms`. */
  waited(urgency: Urgency, ms: number): void;
}

const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Registers the metrics of the queue of writes in `registry`. */
export function createWriteQueueMetrics(registry: Registry): WriteQueueMetrics {
  const registers = [registry];
  let queue: Parameters<WriteQueueMetrics['watch']>[0] | undefined;
  new Gauge({
    name: 'cle_request_limit',
    help: 'How many requests may be under way to the API server at once; it follows how fast the server answers',
    registers,
    collect() {
      if (queue) this.set(queue.limit);
    },
  });
  new Gauge({
    name: 'cle_requests_under_way',
    help: 'Requests that are under way to the API server',
    registers,
    collect() {
      if (queue) this.set(queue.inFlight);
    },
  });
  new Gauge({
    name: 'cle_leases_waiting_to_write',
    help: 'Leases that wait for their turn to write to the API server, by what for',
    labelNames: ['urgency'],
    registers,
    collect() {
      const waiting = queue?.waiting();
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
  for (const urgency of URGENCIES) waitSeconds.zero({ urgency });
  return {
    watch(asked) {
      queue = asked;
    },
    waited(urgency, ms) {
      waitSeconds.observe({ urgency }, ms / 1000);
    },
  };
}
