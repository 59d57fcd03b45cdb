import * as units from '@grafana/grafana-foundation-sdk/units';
import { names, parts, type Row, runbookOf, stat, table, variable } from './panels.ts';
import { asTheActiveSees, ofTheActive, series } from './queries.ts';

/** The state at a glance. `alerts`: the names of all alerts. */
export function overview(alerts: readonly string[]): Row {
  const ours = `alertname=~"${alerts.join('|')}"`;
  return {
    title: 'Overview',
    panels: [
      stat(
        {
          title: 'Leases',
          description: 'Leases that have candidates.',
          unit: units.Short,
        },
        `sum(${asTheActiveSees('cle_leases')})`,
      ),
      stat(
        {
          title: 'Without leader',
          description:
            'Leases that have candidates but no valid holder, except those whose candidates have all shut down cleanly. A few are normal for a moment, during elections.',
          unit: units.Short,
          thresholds: { orange: 1 },
          alert: 'LeaseWithoutLeader',
        },
        `sum(${asTheActiveSees('cle_leases_without_leader')})`,
      ),
      stat(
        {
          title: 'Without leader for',
          description: 'Longest time that a Lease has had no valid holder.',
          unit: units.Seconds,
          thresholds: { orange: 10, red: 30 },
          alert: 'LeaseWithoutLeader',
        },
        `max(${asTheActiveSees('cle_oldest_lease_without_leader_seconds')})`,
      ),
      stat(
        {
          title: 'Strategy conflicts',
          description: 'Leases that get no new leader because their candidates disagree on the strategy.',
          unit: units.Short,
          thresholds: { red: 1 },
          alert: 'LeaseStrategyConflict',
        },
        `sum(${ofTheActive('cle_leases_by_reason', 'reason="StrategyConflict"')})`,
      ),
      stat(
        {
          title: 'Without successor',
          description:
            'Leases that lost their redundancy in the last 24 hours: candidates do not answer, and only the holder can lead.',
          unit: units.Short,
          thresholds: { orange: 1 },
          alert: 'LeaseCandidatesUnresponsive',
        },
        `sum(${asTheActiveSees('cle_leases_without_successor')})`,
      ),
      names(
        {
          title: 'Coordinated by',
          description:
            "The replica that holds the lock and may write, or the API server's built-in coordinator, which holds the same lock.",
          unit: units.NoUnit,
          none: 'none',
          alert: 'LeaseCoordinatorAbsent',
        },
        ['{{cluster}} {{instance}}', `${series('leader_election_master_status')} == 1`],
        [
          '{{cluster}} built-in',
          `max without (instance, pod) (${series('cle_lock_holder', 'holder="foreign"')}) == 1`,
        ],
      ),
      table(
        {
          title: 'Alerts',
          description: 'Pending and firing alerts. Each name links to its runbook.',
          unit: units.NoUnit,
          none: 'none',
          field: 'alertname',
          url: runbookOf(variable('__value.text')),
        },
        `group by (alertname, alertstate, severity, cluster) (ALERTS{${ours}, cluster=~"$cluster"})`,
      ),
      parts(
        {
          title: 'Leases by the reason of the last decision',
          description:
            'The latest decision of the active replica about each Lease. LeaderOptimal is the normal state.',
          unit: units.Short,
        },
        ['{{reason}}', `sum by (reason) (${ofTheActive('cle_leases_by_reason')}) > 0`],
      ).height(7),
      names(
        {
          title: 'Versions',
          description: 'Versions of the running coordinators. Two versions are normal only during an update.',
          unit: units.NoUnit,
          none: 'none scraped',
          alert: 'LeaseCoordinatorAbsent',
        },
        ['{{version}}', `count by (version) (${series('cle_build_info')})`],
      ).height(7),
    ],
  };
}
