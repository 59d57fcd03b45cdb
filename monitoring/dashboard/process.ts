import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, type Row } from './panels.ts';
import { series } from './queries.ts';

const perInstance = (metric: string, by = '') =>
  `sum by (instance${by}) (rate(${series(metric)}[$__rate_interval]))`;

/** CPU, memory and event loop of the processes. */
export const processes: Row = {
  title: 'Process',
  collapsed: true,
  panels: [
    lines(
      {
        title: 'CPU',
        description: 'CPUs in use. More than one: garbage collection and network run beside the event loop.',
        unit: units.Short,
        thresholds: { orange: 1 },
      },
      ['{{instance}}', perInstance('process_cpu_seconds_total')],
    ),
    lines(
      {
        title: 'Memory',
        description: 'Memory of the process, and its used heap.',
        unit: units.BytesIEC,
        thresholds: { orange: 400 * 2 ** 20, red: 500 * 2 ** 20 },
      },
      ['{{instance}}', series('process_resident_memory_bytes')],
      ['{{instance}} heap', series('nodejs_heap_size_used_bytes')],
    ),
    lines(
      {
        title: 'Delay of the event loop (p99)',
        description: 'Delay of timers. A replica loses the lock if it does not renew it for 10 s.',
        unit: units.Seconds,
        thresholds: { orange: 0.25, red: 2 },
        alert: 'LeaseCoordinatorLockFlapping',
      },
      ['{{instance}}', series('nodejs_eventloop_lag_p99_seconds')],
    ),
    lines(
      {
        title: 'Garbage collection',
        description: 'Share of time spent in garbage collection, by kind.',
        unit: units.PercentUnit,
        thresholds: { orange: 0.1 },
      },
      ['{{instance}} {{kind}}', perInstance('nodejs_gc_duration_seconds_sum', ', kind')],
    ),
    lines(
      {
        title: 'Open files',
        description: 'Open file descriptors, including sockets, as a share of the limit.',
        unit: units.PercentUnit,
        thresholds: { orange: 0.5, red: 0.9 },
      },
      ['{{instance}}', `${series('process_open_fds')} / ${series('process_max_fds')}`],
    ),
    lines(
      {
        title: 'Up for',
        description: 'Time since the start of the process. It drops to zero at each restart.',
        unit: units.Seconds,
        alert: 'LeaseCoordinatorAbsent',
      },
      ['{{instance}}', `time() - ${series('process_start_time_seconds')}`],
    ),
  ],
};
