import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row, timeline } from './panels.ts';
import { perMinute, series } from './queries.ts';

/** The active replica, and the results of its writes. */
export const coordinator: Row = {
  title: 'Coordinator',
  panels: [
    timeline(
      {
        title: 'Replicas',
        description: 'The replica that holds the lock and may write. In a dry run there is none.',
        unit: units.NoUnit,
        alert: 'LeaseCoordinatorAbsent',
        states: [
          ['standby', 'blue'],
          ['active', 'green'],
        ],
      },
      ['{{instance}}', series('leader_election_master_status')],
    ),
    timeline(
      {
        title: 'Holder of the lock',
        description:
          'The holder of the lock as each replica sees it: itself (self), another replica (replica), the built-in coordinator (foreign) or none. Empty in a dry run.',
        unit: units.NoUnit,
        alert: 'LeaseCoordinatorAbsent',
        states: [
          ['no', 'transparent'],
          ['yes', 'green'],
        ],
      },
      ['{{holder}}', `max by (holder) (${series('cle_lock_holder')})`],
    ),
    lines(
      {
        title: 'Changes of standing',
        description: 'How often replicas became active, settling, waiting or standby.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorLockFlapping',
      },
      ['{{state}}', perMinute('cle_lock_state_changes_total', { by: 'state' })],
    ),
    lines(
      {
        title: 'Locks of other coordinators',
        description:
          'Locks that other coordinators hold in other namespaces, and whether our lock is refused because the built-in coordinator may elect.',
        unit: units.Short,
        thresholds: { red: 1 },
        alert: 'LeaseCoordinatorNotAlone',
      },
      ['others', `max(${series('cle_other_locks_held')})`],
      ['refused', `max(${series('cle_lock_namespace_refused')})`],
    ),
    lines(
      {
        title: 'Failed calls about the lock',
        description: 'Failed calls, including lost races for the lock: a few are normal when replicas start.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorLockFlapping',
      },
      ['{{call}}', perMinute('cle_lock_call_failures_total', { by: 'call' })],
    ),
    lines(
      {
        title: 'Reconciles that failed',
        description: 'Reconciles that failed with an unexpected error. The log contains each of them.',
        unit: units.CountsPerMinute,
        thresholds: { red: 1 },
      },
      ['failed', perMinute('cle_reconcile_failures_total')],
    ),
    lines(
      {
        title: 'Decisions held back',
        description:
          'Decisions that were delayed, because a Lease has very many candidates or changes all the time.',
        unit: units.CountsPerMinute,
      },
      ['held back', perMinute('cle_decisions_held_back_total')],
    ),
    parts(
      {
        title: 'Writes',
        description: 'Writes to Leases and LeaseCandidates that succeeded.',
        unit: units.CountsPerMinute,
      },
      ['{{action}}', perMinute('cle_writes_total', { by: 'action', matchers: 'result="ok"' })],
    ),
    lines(
      {
        title: 'Writes in vain',
        description:
          'Writes that failed (error), or that the server refused because the object had changed (conflict, which is normal).',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWriteErrors',
      },
      ['{{result}}', perMinute('cle_writes_total', { by: 'result', matchers: 'result!="ok"' })],
    ),
    lines(
      {
        title: 'Events',
        description:
          'Events on Leases: written, failed, or dropped because of a rate limit, a full queue or the end of the process.',
        unit: units.CountsPerMinute,
      },
      ['{{result}}', perMinute('cle_events_total', { by: 'result' })],
    ),
  ],
};
