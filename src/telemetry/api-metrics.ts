import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock } from '../clock.ts';

/** One call to the API server that ended; a watch counts as ended once its answer has begun. */
export interface ApiCall {
  readonly method: string;
  /** Kubernetes' own: get, list, watch, create, ... */
  readonly verb: string;
  /** `error` where there was no complete answer. */
  readonly status: number | 'error';
  readonly durationMs: number;
}

/** What a reflector did. */
export type ReflectorStep =
  | { readonly type: 'listed' }
  | { readonly type: 'watchStarted' }
  | { readonly type: 'watchEnded'; readonly how: string };

/** Traffic with the API server. */
export interface ApiMetrics {
  called(call: ApiCall): void;
  /** The observer for the reflector of `resource`. */
  reflectorObserver(resource: string): (step: ReflectorStep) => void;
}

const REQUEST_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/** Registers the metrics of the API server's client in `registry`. */
export function createApiMetrics(registry: Registry, clock: Clock): ApiMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server',
    labelNames: ['code', 'method'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long requests to the API server took',
    labelNames: ['verb'],
    buckets: REQUEST_BUCKETS_SECONDS,
    registers,
  });
  const lists = new Counter({
    name: 'cle_reflector_lists_total',
    help: 'Complete lists of a resource: one at the start, one whenever a watch could not go on from where it was',
    labelNames: ['resource'],
    registers,
  });
  const watchEnds = new Counter({
    name: 'cle_reflector_watch_ends_total',
    help: 'Watches that ended, by how; only those that the server closed are in good order',
    labelNames: ['resource', 'how'],
    registers,
  });
  const lastContact = new Gauge({
    name: 'cle_reflector_last_contact_timestamp_seconds',
    help: 'When the server last answered a list or began a watch, which it does every few minutes',
    labelNames: ['resource'],
    registers,
  });
  return {
    called({ method, verb, status, durationMs }) {
      // What client-go calls an answer that never came.
      requests.inc({ code: status === 'error' ? '<error>' : status, method });
      requestSeconds.observe({ verb }, durationMs / 1000);
    },
    reflectorObserver: (resource) => (step) => {
      if (step.type === 'listed') lists.inc({ resource });
      if (step.type === 'watchEnded') watchEnds.inc({ resource, how: step.how });
      else lastContact.set({ resource }, Number(clock.wallTime()) / 1e6);
    },
  };
}
