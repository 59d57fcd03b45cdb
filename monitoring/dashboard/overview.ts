import * as units from '@grafana/grafana-foundation-sdk/units';
import { names, parts, type Row, runbookOf, stat, table, variable } from './panels.ts';
import { asTheActiveSees, ofTheActive, series } from './queries.ts';

/** Whether all is well; `alerts` are the names of those that there are. */
export function overview(alerts: readonly string[]): Row {
  const ours = `alertname=~"${alerts.join('|')}"`;
  return {
    title: 'Overview',
    panels: [
      stat(
        {
          title: 'Leases',
          description: 'Leases that somebody is a candidate for.',
          unit: units.Short,
        },
        `sum(${asTheActiveSees('cle_leases')})`,
      ),
      stat(
        {
          title: 'Without leader',
          description:
            'Leases that have candidates but no valid holder, but for those whose candidates all ended in good order. For a moment there may be some: an election takes its time.',
          unit: units.Short,
          thresholds: { orange: 1 },
          alert: 'LeaseWithoutLeader',
        },
        `sum(${asTheActiveSees('cle_leases_without_leader')})`,
      ),
      stat(
        {
          title: 'Without leader for',
          description: 'How long the Lease that has been without a valid holder for longest has been so.',
          unit: units.Seconds,
          thresholds: { orange: 10, red: 30 },
          alert: 'LeaseWithoutLeader',
        },
        `max(${asTheActiveSees('cle_oldest_lease_without_leader_seconds')})`,
      ),
      stat(
        {
          title: 'Strategy conflicts',
          description: 'Leases that get no new leader, as their candidates disagree about the strategy.',
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
            'Leases that lost their redundancy within a day: candidates have stopped answering, and none but the holder is left.',
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
          none: 'nobody',
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
          description: 'Alerts that are pending or firing. A name leads to its runbook.',
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
            'What the active replica last decided about each Lease; LeaderOptimal is all in order.',
          unit: units.Short,
        },
        ['{{reason}}', `sum by (reason) (${ofTheActive('cle_leases_by_reason')}) > 0`],
      ).height(7),
      names(
        {
          title: 'Versions',
          description: 'Versions of the coordinator that are scraped; two of them only during an update.',
          unit: units.NoUnit,
          none: 'none is scraped',
          alert: 'LeaseCoordinatorAbsent',
        },
        ['{{version}}', `count by (version) (${series('cle_build_info')})`],
      ).height(7),
    ],
  };
}
