import { allNamespacesRow, inspectionRows, lockRow, outputRow } from './inspection-settings.ts';
import { duration, inGroup, option, type SettingsOf, settingsTable, text, toggle } from './settings-table.ts';

/** The settings that the commands `transfer` and `drain` have in common, in addition to `inspectionRows`. */
const movingRows = {
  ...lockRow,
  ...inGroup('Time:', {
    forMs: option('for', duration('1s', '24h'), {
      description: 'how long the priority lasts, at most 24h',
      default: '1h',
    }),
    timeoutMs: option('timeout', duration('1s', '1h'), {
      description: 'how long to wait for leaders to move',
      default: '2m',
    }),
  }),
  ...outputRow('json', 'yaml'),
};

const selectionRows = {
  ...allNamespacesRow,
  ...inGroup('Candidates:', {
    selector: option('selector', text('<labels>'), {
      short: 'l',
      description: 'candidates with these labels, as kubectl has them',
    }),
    node: option('node', text('<name>'), {
      description: 'candidates whose ownerReference is a Pod on this node',
    }),
    candidate: option('candidate', text('<name>'), { description: 'the candidate of this name' }),
  }),
};

/** The candidates to drain or undrain. Exactly one of `selector`, `node` and `candidate` is set; with --all, none. */
export type SelectionSettings = SettingsOf<typeof selectionRows>;

const candidateName = { placeholder: '<candidate>', parse: (given: string) => ({ value: given }) };

export const transferSettings = settingsTable(
  'CLE_TRANSFER',
  {
    ...inspectionRows,
    ...inGroup('Candidates:', {
      to: option('to', candidateName, {
        description: 'name of the candidate that should lead',
        default: '',
        defaultNote: 'none; required',
      }),
    }),
    ...movingRows,
  },
  ({ to }) => [to === '' && 'no candidate is named: give --to candidate'],
);

export type TransferSettings = SettingsOf<typeof transferSettings.settings>;

export const drainSettings = settingsTable(
  'CLE_DRAIN',
  { ...inspectionRows, ...selectionRows, ...movingRows },
  (settings) => [selectionsOf(settings) !== 1 && 'give one of --selector, --node or --candidate'],
);

export type DrainSettings = SettingsOf<typeof drainSettings.settings>;

export const undrainSettings = settingsTable(
  'CLE_UNDRAIN',
  {
    ...inspectionRows,
    ...selectionRows,
    ...inGroup('Candidates:', { all: toggle('all', 'every candidate') }),
    ...outputRow('json', 'yaml'),
  },
  (settings) => [
    selectionsOf(settings) !== (settings.all ? 0 : 1) &&
      'give one of --selector, --node, --candidate or --all',
  ],
);

export type UndrainSettings = SettingsOf<typeof undrainSettings.settings>;

function selectionsOf({ selector, node, candidate }: SelectionSettings): number {
  return [selector, node, candidate].filter((given) => given !== undefined).length;
}
