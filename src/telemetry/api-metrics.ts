import type { Registry } from 'prom-client';
import type { WatchedResource } from '../controller/controller-event.ts';
import type { ApiCallObservation } from '../kubernetes/client.ts';
import type { ReflectorErrorContext, ReflectorObservation } from '../kubernetes/reflector.ts';
import type { Clock, Instant } from '../support/clock.ts';
import { instrumentsOf, type ScrapeSources } from './instruments.ts';

type WatchEnd = Extract<ReflectorObservation, { type: 'watchEnded' }>['how'];
type FailingStep = ReflectorErrorContext['during'] | 'discovery';
const RESOURCES: readonly WatchedResource[] = ['leases', 'leasecandidates'];
const FAILING_STEPS: readonly FailingStep[] = ['discovery', 'list', 'watch', 'decode', 'callback'];
const WATCH_ENDS: readonly WatchEnd[] = ['closed', 'aborted', 'stalled', 'failed'];
const REQUEST_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

export function createApiMetrics(registry: Registry, sources: ScrapeSources, clock: Clock) {
  const { counter, gauge, histogram } = instrumentsOf(registry);
  const requests = counter(
    'rest_client_requests_total',
    'Requests to the API server; code <error> means that there was no complete answer',
    { code: [], method: [] },
  );
  const requestSeconds = histogram(
    'rest_client_request_duration_seconds',
    'Duration of requests to the API server; for a watch, until its answer began',
    REQUEST_BUCKETS_SECONDS,
    { verb: [] },
  );
  const lists = counter(
    'cle_reflector_lists_total',
    'Complete lists of a resource: one at the start, and one each time a watch cannot be resumed',
    { resource: RESOURCES },
  );
  const watchEnds = counter(
    'cle_reflector_watch_ends_total',
    'Watches that ended, by how they ended; closed, by the server, is normal',
    { resource: RESOURCES, how: WATCH_ENDS },
  );
  const failures = counter(
    'cle_reflector_failures_total',
    'Failures of discovery, lists, watches, decoding and handlers; each is retried with backoff',
    { resource: [...RESOURCES, 'pods', 'namespaces'], during: FAILING_STEPS },
  );
  const startedAt = clock.now();
  const heardAt = new Map<WatchedResource, Instant>();
  gauge(
    'cle_reflector_staleness_seconds',
    'Time since the server last sent data about a resource, or since the start, for the watch with the longest silence; bookmarks arrive about once a minute',
    ['resource'],
    (staleness) => {
      for (const resource of RESOURCES) {
        const at = sources.lastHeard?.(resource) ?? heardAt.get(resource) ?? startedAt;
        heardAt.set(resource, at);
        staleness.set({ resource }, (clock.now() - at) / 1000);
      }
    },
  );
  return {
    called({ method, verb, status, durationMs }: Omit<ApiCallObservation, 'resource'>) {
      // client-go uses the code `<error>` for a request without an answer. Here, it also means a partial or invalid answer.
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
  };
}
