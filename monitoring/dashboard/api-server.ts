import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row } from './panels.ts';
import { perMinute, perSecond, quantile, series } from './queries.ts';

const requests = 'rest_client_requests_total';
const troubles = perSecond(requests, { matchers: 'code=~"<error>|429|5.."' });

/** Requests to the API server, and the workqueue. */
export const apiServer: Row = {
  title: 'API server and workqueue',
  collapsed: true,
  panels: [
    parts(
      {
        title: 'Requests by answer',
        description: 'Requests to the API server by status code; <error>: no answer.',
        unit: units.RequestsPerSecond,
      },
      ['{{code}}', perSecond(requests, { by: 'code' })],
    ),
    lines(
      {
        title: 'Failed requests',
        description: 'Share of requests without an answer, or with status 429 or 5xx.',
        unit: units.PercentUnit,
        thresholds: { orange: 0.01, red: 0.1 },
        alert: 'LeaseCoordinatorWriteErrors',
      },
      ['failed', `(${troubles} or vector(0)) / ${perSecond(requests)}`],
    ),
    lines(
      {
        title: 'Latency of requests (p99)',
        description: 'Duration of requests; for a watch, until its answer began. Over 15 minutes.',
        unit: units.Seconds,
        thresholds: { orange: 1 },
        alert: 'LeaseApiServerSlow',
      },
      ['{{verb}}', quantile(0.99, 'rest_client_request_duration_seconds', 'verb')],
    ),
    lines(
      {
        title: 'Requests in flight',
        description: 'Requests in flight, and their limit. The limit falls if the API server answers slowly.',
        unit: units.Short,
        alert: 'LeaseApiServerSlow',
      },
      ['{{instance}}', `sum by (instance) (${series('cle_requests_under_way')})`],
      ['{{instance}} at most', `sum by (instance) (${series('cle_request_limit')})`],
    ),
    parts(
      {
        title: 'Leases that wait to write',
        description: 'Leases that wait for a free request slot, by urgency. The most urgent go first.',
        unit: units.Short,
        alert: 'LeaseApiServerSlow',
      },
      ['{{urgency}}', `sum by (urgency) (${series('cle_leases_waiting_to_write')})`],
    ),
    lines(
      {
        title: 'Wait before a write (p90)',
        description: 'Time that Leases waited for a free request slot, by urgency. Over 15 minutes.',
        unit: units.Seconds,
        thresholds: { orange: 2 },
        alert: 'LeaseApiServerSlow',
      },
      ['{{urgency}}', quantile(0.9, 'cle_write_wait_seconds', 'urgency')],
    ),
    lines(
      {
        title: 'Time since the last data',
        description:
          'Time since the API server last sent data. In a quiet cluster, bookmarks arrive about once a minute.',
        unit: units.Seconds,
        thresholds: { orange: 75, red: 150 },
        alert: 'LeaseCoordinatorWatchStale',
      },
      [
        '{{instance}} {{resource}}',
        `max by (instance, resource) (${series('cle_reflector_staleness_seconds')})`,
      ],
    ),
    lines(
      {
        title: 'Watches that ended',
        description: 'Watches by how they ended (closed is normal), and the complete lists that followed.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWatchStale',
      },
      ['{{resource}} {{how}}', perMinute('cle_reflector_watch_ends_total', { by: 'resource, how' })],
      ['{{resource}} listed', perMinute('cle_reflector_lists_total', { by: 'resource' })],
    ),
    lines(
      {
        title: 'Failures of watches',
        description: 'Failures of discovery, lists, watches, decoding and handlers.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWatchStale',
      },
      ['{{resource}} {{during}}', perMinute('cle_reflector_failures_total', { by: 'resource, during' })],
    ),
    lines(
      {
        title: 'Depth of the workqueue',
        description:
          'Keys that wait in the workqueue. If they wait for long, workers are few or writes are slow.',
        unit: units.Short,
        thresholds: { orange: 100 },
        alert: 'LeaseElectionsSlow',
      },
      ['{{instance}}', `sum by (instance) (${series('workqueue_depth')})`],
    ),
    lines(
      {
        title: 'Time in the workqueue',
        description: 'How long keys waited, and how long their processing took (p99, over 15 minutes).',
        unit: units.Seconds,
        thresholds: { orange: 1 },
        alert: 'LeaseElectionsSlow',
      },
      ['waited', quantile(0.99, 'workqueue_queue_duration_seconds')],
      ['processed', quantile(0.99, 'workqueue_work_duration_seconds')],
    ),
    lines(
      {
        title: 'Keys added and retried',
        description: 'Keys added to the workqueue, and keys queued again with backoff after a failure.',
        unit: units.CountsPerMinute,
      },
      ['added', perMinute('workqueue_adds_total')],
      ['retried', perMinute('workqueue_retries_total')],
    ),
  ],
};
