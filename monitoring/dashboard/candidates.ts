import * as units from '@grafana/grafana-foundation-sdk/units';
import { lines, parts, type Row } from './panels.ts';
import { asTheActiveSees, perMinute } from './queries.ts';

/** Who could lead. */
export const candidates: Row = {
  title: 'Candidates',
  panels: [
    parts(
      {
        title: 'Candidates by state',
        description:
          'What LeaseCandidates count for. Idle ones are asked before they are elected; unresponsive ones did not answer, and take no part until they renew.',
        unit: units.Short,
        alert: 'LeaseCandidatesUnresponsive',
      },
      ['{{state}}', `sum by (state) (${asTheActiveSees('cle_candidates')}) > 0`],
    ),
    lines(
      {
        title: 'Pings',
        description: 'Candidates that were asked for a sign of life, and those that gave none in time.',
        unit: units.CountsPerMinute,
        alert: 'LeaseCandidatesUnresponsive',
      },
      ['sent', perMinute('cle_pings_total')],
      ['unanswered', perMinute('cle_pings_unanswered_total')],
    ),
    lines(
      {
        title: 'Candidates collected',
        description: 'LeaseCandidates that were deleted, as they had gone long ago.',
        unit: units.CountsPerMinute,
      },
      ['collected', perMinute('cle_candidates_collected_total')],
    ),
  ],
};
