import { Gauge, Histogram, type Registry } from 'prom-client';

/** What a write is for, the most urgent first (rule 9). */
export type Urgency = 'grant' | 'preference' | 'vacant' | 'expiry' | 'housekeeping';

/** What is asked of the requests to the API server whenever metrics are collected. */
export interface WriteQueue {
  /** How many requests may be under way at once right now. */
  readonly limit: number;
  readonly underWay: number;
  /** How many Leases wait for their turn. */
  waiting(): Readonly<Record<Urgency, number>>;
}

/** The turns that Leases take to write to the API server. */
export interface WriteQueueMetrics {
  /** Says whom to ask. */
  watch(queue: WriteQueue): void;
  /** A Lease that had waited for `ms` got its turn. */
  waited(urgency: Urgency, ms: number): void;
}

// All that there are, as the type demands.
const URGENCIES: Readonly<Record<Urgency, true>> = {
  grant: true,
  preference: true,
  vacant: true,
  expiry: true,
  housekeeping: true,
};
export const urgencies = Object.keys(URGENCIES) as readonly Urgency[];

const WAIT_BUCKETS_SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Registers the metrics of the turns to write in `registry`. */
export function createWriteQueueMetrics(registry: Registry): WriteQueueMetrics {
  const registers = [registry];
  let queue: WriteQueue | undefined;
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
      for (const urgency of urgencies) this.set({ urgency }, waiting?.[urgency] ?? 0);
    },
  });
  const waitSeconds = new Histogram({
    name: 'cle_write_wait_seconds',
    help: 'How long Leases waited for their turn to write to the API server, by what for',
    labelNames: ['urgency'],
    buckets: WAIT_BUCKETS_SECONDS,
    registers,
  });
  for (const urgency of urgencies) waitSeconds.zero({ urgency });
  return {
    watch(asked) {
      queue = asked;
    },
    waited(urgency, ms) {
      waitSeconds.observe({ urgency }, ms / 1000);
    },
  };
}
