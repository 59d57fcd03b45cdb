import * as units from '@grafana/grafana-foundation-sdk/units';
import { heatmap, lines, parts, type Query, type Row } from './panels.ts';
import { buckets, perMinute, quantile } from './queries.ts';

function quantiles(histogram: string): readonly Query[] {
  return [0.5, 0.9, 0.99].map((q): Query => [`p${q * 100}`, quantile(q, histogram)]);
}

/** Numbers, reasons and durations of elections. */
export const elections: Row = {
  title: 'Elections',
  panels: [
    parts(
      {
        title: 'Elections by result',
        description: 'Elections by result. A candidate was elected if the result is granted or preferred.',
        unit: units.CountsPerMinute,
      },
      ['{{result}}', perMinute('cle_elections_total', { by: 'result' })],
    ),
    parts(
      {
        title: 'Elections by reason',
        description: 'Reasons of elections.',
        unit: units.CountsPerMinute,
      },
      ['{{reason}}', `${perMinute('cle_elections_total', { by: 'reason' })} > 0`],
    ),
    lines(
      {
        title: 'Leader changes and preemptions',
        description:
          'Grants to a new holder; holders asked to yield to a better candidate; elections in which a candidate with an older binary won (skew preventions).',
        unit: units.CountsPerMinute,
      },
      ['leader changes', perMinute('cle_leader_changes_total')],
      ['preemptions', perMinute('cle_preemptions_total')],
      ['skew preventions', perMinute('cle_skew_preventions_total')],
    ),
    lines(
      {
        title: 'From expiry to the new holder',
        description:
          'Time from the expiry of a Lease, or from the first electable candidate after it, to the grant to a new holder. Over 15 minutes.',
        unit: units.Seconds,
        thresholds: { red: 5 },
        alert: 'LeaseElectionsSlow',
      },
      ...quantiles('cle_expiry_to_holder_seconds'),
    ),
    heatmap(
      {
        title: 'From expiry to the new holder, each election',
        description: 'Distribution of the durations.',
        unit: units.Seconds,
        alert: 'LeaseElectionsSlow',
      },
      buckets('cle_expiry_to_holder_seconds'),
    ),
    lines(
      {
        title: 'Elections in vain',
        description:
          'Preferred holders that were removed because they failed, and strategy conflicts that began.',
        unit: units.CountsPerMinute,
      },
      ['{{reason}}', perMinute('cle_preemptions_failed_total', { by: 'reason' })],
      ['strategy conflicts', perMinute('cle_strategy_conflicts_total')],
    ),
    lines(
      {
        title: 'From need to decision',
        description:
          'Time from when an election was needed and a candidate was electable to its decision, including the wait for answers. Over 15 minutes.',
        unit: units.Seconds,
        thresholds: { red: 10 },
        alert: 'LeaseElectionsSlow',
      },
      ...quantiles('cle_need_to_decision_seconds'),
    ),
    heatmap(
      {
        title: 'From need to decision, each election',
        description: 'Distribution of the durations.',
        unit: units.Seconds,
        alert: 'LeaseElectionsSlow',
      },
      buckets('cle_need_to_decision_seconds'),
    ),
    parts(
      {
        title: 'Decisions by reason',
        description: 'All decisions, including decisions to do nothing.',
        unit: units.CountsPerMinute,
      },
      ['{{reason}}', `${perMinute('cle_decisions_total', { by: 'reason' })} > 0`],
    ),
  ],
};
