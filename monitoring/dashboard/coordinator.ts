import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row, timeline } from './panels.ts';
import { perMinute, series } from './queries.ts';

/** Which replica coordinates, and what becomes of its writes. */
export const coordinator: Row = {
  title: 'Coordinator',
  panels: [
    timeline(
      {
        title: 'Replicas',
        description: 'Which replica holds the lock and may write. In a dry run none does.',
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
          'Who holds the lock in the eyes of any replica: itself, another one (replica), the built-in coordinator (foreign), or nobody. Nothing in a dry run.',
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
        description: 'How often replicas came to be active, settling, waiting or standby.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorLockFlapping',
      },
      ['{{state}}', perMinute('cle_lock_state_changes_total', { by: 'state' })],
    ),
    lines(
      {
        title: 'Locks of other coordinators',
        description:
          'Locks in other namespaces that another coordinator holds, as any replica sees them, and whether a lock of ours is refused, as the built-in coordinator may elect.',
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
        description: 'Lost races for the lock are among them: a few when replicas start are in order.',
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
          'Looks at a Lease that were put off: its candidates are very many, or somebody changes them all the time.',
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
          'Writes that failed (error), or were refused as the object had changed (conflict): those are part of the work.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCoordinatorWriteErrors',
      },
      ['{{result}}', perMinute('cle_writes_total', { by: 'result', matchers: 'result!="ok"' })],
    ),
    lines(
      {
        title: 'Events',
        description: 'Events on Leases: written, failed, or dropped by a rate limit.',
        unit: units.CountsPerMinute,
      },
      ['{{result}}', perMinute('cle_events_total', { by: 'result' })],
    ),
  ],
};
