import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { WatchedResource } from '../controller/controller-event.ts';
import type { ReflectorErrorContext, ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';

/** A completed call to the API server. A watch counts as completed when its answer begins. */
export interface ApiCall {
  readonly method: string;
  /** The Kubernetes verb: get, list, watch, create, ... */
  readonly verb: string;
  /** `error` if there was no complete answer. */
  readonly status: number | 'error';
  readonly durationMs: number;
}

type FailingStep = ReflectorErrorContext['during'] | 'discovery';
const RESOURCES: readonly WatchedResource[] = ['leases', 'leasecandidates'];

const FAILING_STEPS: Readonly<Record<FailingStep, true>> = {
  discovery: true,
  list: true,
  watch: true,
  decode: true,
  callback: true,
};

const WATCH_ENDS: Readonly<Record<Extract<ReflectorObservation, { type: 'watchEnded' }>['how'], true>> = {
  closed: true,
  aborted: true,
  stalled: true,
  failed: true,
};

export type ApiMetrics = ReturnType<typeof createApiMetrics>;

const REQUEST_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function createApiMetrics(registry: Registry, clock: Clock) {
  const registers = [registry];
  const requests = new Counter({
    name: 'rest_client_requests_total',
    help: 'Requests to the API server; code <error> where there was no complete answer',
    labelNames: ['code', 'method'],
    registers,
  });
  const requestSeconds = new Histogram({
    name: 'rest_client_request_duration_seconds',
    help: 'How long requests to the API server took, a watch until its answer began',
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
  const failures = new Counter({
    name: 'cle_reflector_failures_total',
    help: 'What went wrong while a resource was looked for, listed, watched or read; each is tried again with backoff',
    labelNames: ['resource', 'during'],
    registers,
  });
  for (const resource of RESOURCES) {
    lists.inc({ resource }, 0);
    for (const how of Object.keys(WATCH_ENDS)) watchEnds.inc({ resource, how }, 0);
    for (const during of Object.keys(FAILING_STEPS)) failures.inc({ resource, during }, 0);
  }
  const startedAt = clock.now();
  const heardAt = new Map<WatchedResource, Instant>();
  let lastHeard: (resource: WatchedResource) => Instant | undefined = () => undefined;
  new Gauge({
    name: 'cle_reflector_staleness_seconds',
    help: 'How long ago the server last sent anything about a resource, bookmarks included, which come about once a minute; from the start on when it never did',
    labelNames: ['resource'],
    registers,
    collect() {
      for (const resource of RESOURCES) {
        const at = lastHeard(resource) ?? heardAt.get(resource) ?? startedAt;
        heardAt.set(resource, at);
        this.set({ resource }, (clock.now() - at) / 1000);
      }
    },
  });
  return {
    called({ method, verb, status, durationMs }: ApiCall) {
      // client-go uses this code for a request without an answer.
      requests.inc({ code: status === 'error' ? '<error>' : status, method });
      requestSeconds.observe({ verb }, durationMs / 1000);
    },
    reflected(resource: WatchedResource, observation: ReflectorObservation): void {
      if (observation.type === 'listed') lists.inc({ resource });
      if (observation.type === 'watchEnded') watchEnds.inc({ resource, how: observation.how });
    },
    reflectorFailed({ path, during }: { readonly path: string; readonly during: FailingStep }) {
      failures.inc({ resource: path.slice(path.lastIndexOf('/') + 1), during });
    },
    /** Sets the function that returns when the server last sent data about `resource`. It is called for each scrape. */
    watchStaleness(ask: typeof lastHeard) {
      lastHeard = ask;
    },
  };
}

/** The result of an Event: written, refused by the server, or dropped because the queue was full. */
const EVENT_RESULTS = ['written', 'failed', 'dropped'] as const;

export type EventMetrics = ReturnType<typeof createEventMetrics>;

export function createEventMetrics(registry: Registry) {
  const events = new Counter({
    name: 'cle_events_total',
    help: 'Events on Leases: written (repeats of an earlier one counted up among them), failed, or dropped by a rate limit',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of EVENT_RESULTS) events.inc({ result }, 0);
  return { ended: (result: (typeof EVENT_RESULTS)[number]) => events.inc({ result }) };
}

const CALLS = ['list', 'add', 'remove'] as const;

export function createLabelMetrics(registry: Registry) {
  const calls = new Counter({
    name: 'cle_leader_label_calls_total',
    help: 'Leader labels put on Pods (add) and taken off (remove), and lists of Pods for labels that are left over; what failed is tried again with backoff',
    labelNames: ['call', 'result'],
    registers: [registry],
  });
  for (const call of CALLS) for (const result of ['success', 'error']) calls.inc({ call, result }, 0);
  return {
    called: (call: (typeof CALLS)[number], isSuccess: boolean) =>
      calls.inc({ call, result: isSuccess ? 'success' : 'error' }),
  };
}
