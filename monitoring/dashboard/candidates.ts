import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row } from './panels.ts';
import { asTheActiveSees, perMinute } from './queries.ts';

/** States of candidates, pings and deletions. */
export const candidates: Row = {
  title: 'Candidates',
  panels: [
    parts(
      {
        title: 'Candidates by state',
        description:
          'States of LeaseCandidates. An idle candidate is pinged before it is elected. An unresponsive one did not answer, and cannot lead until it renews.',
        unit: units.Short,
        alert: 'LeaseCandidatesUnresponsive',
      },
      ['{{state}}', `sum by (state) (${asTheActiveSees('cle_candidates')}) > 0`],
    ),
    lines(
      {
        title: 'Pings',
        description: 'Pings sent to candidates, and pings that were not answered in time.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCandidatesUnresponsive',
      },
      ['sent', perMinute('cle_pings_total')],
      ['unanswered', perMinute('cle_pings_unanswered_total')],
    ),
    lines(
      {
        title: 'Candidates collected',
        description: 'Dead LeaseCandidates that were deleted.',
        unit: units.CountsPerMinute,
      },
      ['collected', perMinute('cle_candidates_collected_total')],
    ),
  ],
};
