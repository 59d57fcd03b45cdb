import { Gauge, Histogram, type Registry } from 'prom-client';
import { URGENCIES, type Urgency } from '../controller/queue/urgency.ts';
import type { WriteQueue, WriteQueueObserver } from '../controller/queue/write-queue.ts';

/** The turns that Leases take to write to the API server. */
export interface WriteQueueMetrics extends WriteQueueObserver {
  /** Says whom to ask. */
  watch(queue: Pick<WriteQueue, 'limit' | 'underWay' | 'waiting'>): void;
  /** A Lease that had waited for `ms` got its turn. */
  waited(urgency: Urgency, ms: number): void;
}

const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Registers the metrics of the turns to write in `registry`. */
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
      if (queue) this.set(queue.underWay);
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
