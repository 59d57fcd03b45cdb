import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row } from './panels.ts';
import { perMinute, perSecond, quantile, series } from './queries.ts';

const requests = 'rest_client_requests_total';
const troubles = perSecond(requests, { matchers: 'code=~"<error>|429|5.."' });

/** How it goes with the API server, and with the keys that wait for being worked on. */
export const apiServer: Row = {
  title: 'API server and workqueue',
  collapsed: true,
  panels: [
    parts(
      {
        title: 'Requests by answer',
        description: 'Requests to the API server by the code of the answer; <error> where there was none.',
        unit: units.RequestsPerSecond,
      },
      ['{{code}}', perSecond(requests, { by: 'code' })],
    ),
    lines(
      {
        title: 'Requests that the API server failed',
        description: 'The part of requests without an answer, or with one of 429 or 5xx.',
        unit: units.PercentUnit,
        thresholds: { orange: 0.01, red: 0.1 },
        alert: 'LeaseCoordinatorWriteErrors',
      },
      ['failed', `(${troubles} or vector(0)) / ${perSecond(requests)}`],
    ),
    lines(
      {
        title: 'Latency of requests (p99)',
        description: 'How long requests took, a watch until its answer began; over 15 minutes.',
        unit: units.Seconds,
        thresholds: { orange: 1 },
        alert: 'LeaseApiServerSlow',
      },
      ['{{verb}}', quantile(0.99, 'rest_client_request_duration_seconds', 'verb')],
    ),
    lines(
      {
        title: 'Requests under way',
        description:
          'Requests that are under way at once, and how many may be: fewer the more slowly the API server answers.',
        unit: units.Short,
        alert: 'LeaseApiServerSlow',
      },
      ['{{instance}}', `sum by (instance) (${series('cle_requests_under_way')})`],
      ['{{instance}} at most', `sum by (instance) (${series('cle_request_limit')})`],
    ),
    parts(
      {
        title: 'Leases that wait to write',
        description: 'Leases that wait for their turn to write, by what for; the most urgent go first.',
        unit: units.Short,
        alert: 'LeaseApiServerSlow',
      },
      ['{{urgency}}', `sum by (urgency) (${series('cle_leases_waiting_to_write')})`],
    ),
    lines(
      {
        title: 'Wait for the turn to write (p90)',
        description: 'How long Leases waited for their turn to write, by what for; over 15 minutes.',
        unit: units.Seconds,
        thresholds: { orange: 2 },
        alert: 'LeaseApiServerSlow',
      },
      ['{{urgency}}', quantile(0.9, 'cle_write_wait_seconds', 'urgency')],
    ),
    lines(
      {
        title: 'Last heard of',
        description:
          'How long ago the API server last sent anything; in a quiet cluster bookmarks come about once a minute.',
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
        description: 'Watches by how they ended (closed is in order), and complete lists after those.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWatchStale',
      },
      ['{{resource}} {{how}}', perMinute('cle_reflector_watch_ends_total', { by: 'resource, how' })],
      ['{{resource}} listed', perMinute('cle_reflector_lists_total', { by: 'resource' })],
    ),
    lines(
      {
        title: 'Failures of watching',
        description: 'What went wrong while a resource was looked for, listed, watched or read.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWatchStale',
      },
      ['{{resource}} {{during}}', perMinute('cle_reflector_failures_total', { by: 'resource, during' })],
    ),
    lines(
      {
        title: 'Keys that wait',
        description:
          'The depth of the workqueue; more than a moment of it means too few workers or slow writes.',
        unit: units.Short,
        thresholds: { orange: 100 },
        alert: 'LeaseElectionsSlow',
      },
      ['{{instance}}', `sum by (instance) (${series('workqueue_depth')})`],
    ),
    lines(
      {
        title: 'Time in the workqueue',
        description: 'How long keys waited and were worked on (p99, over 15 minutes).',
        unit: units.Seconds,
        thresholds: { orange: 1 },
        alert: 'LeaseElectionsSlow',
      },
      ['waited', quantile(0.99, 'workqueue_queue_duration_seconds')],
      ['worked on', quantile(0.99, 'workqueue_work_duration_seconds')],
    ),
    lines(
      {
        title: 'Keys added and repeated',
        description: 'Keys put into the workqueue, and those put back with backoff as their work failed.',
        unit: units.CountsPerMinute,
      },
      ['added', perMinute('workqueue_adds_total')],
      ['repeated', perMinute('workqueue_retries_total')],
    ),
  ],
};
