import { inspectionRows, lockRow, outputRow, statusSettings } from './inspection-settings.ts';
import {
  duration,
  inGroup,
  option,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
} from './settings-table.ts';

const output = outputRow('json', 'yaml');

/** The settings that `transfer` and `drain` share. */
const movingRows = {
  ...lockRow,
  ...inGroup('Time:', {
    forMs: option('for', duration({ min: '1s', max: '24h' }), 'how long the priority lasts, at most 24h', {
      default: '1h',
    }),
    timeoutMs: option('timeout', duration({ min: '1s', max: '1h' }), 'how long to wait for leaders to move', {
      default: '2m',
    }),
  }),
  ...output,
};

const selectionRows = {
  allNamespaces: statusSettings.settings.allNamespaces,
  ...inGroup('Candidates:', {
    selector: option('selector', text('<labels>'), 'candidates with these labels, as kubectl has them', {
      short: 'l',
    }),
    node: option('node', text('<name>'), 'candidates whose ownerReference is a Pod on this node'),
    candidate: option('candidate', text('<name>'), 'the candidate of this name'),
  }),
};

const candidateName = { placeholder: '<candidate>', parse: (given: string) => ({ value: given }) };

const transferRows = {
  ...inspectionRows,
  ...inGroup('Candidates:', {
    to: option('to', candidateName, 'name of the candidate that should lead', {
      default: '',
      defaultNote: 'none; required',
    }),
  }),
  ...movingRows,
};

export const transferSettings: SettingsTable<SettingsOf<typeof transferRows>> = {
  envPrefix: 'CLE_TRANSFER',
  settings: transferRows,
  contradictionsIn: ({ to }) => [to === '' && 'no candidate is named: give --to candidate'],
};

const drainRows = { ...inspectionRows, ...selectionRows, ...movingRows };

export const drainSettings: SettingsTable<SettingsOf<typeof drainRows>> = {
  envPrefix: 'CLE_DRAIN',
  settings: drainRows,
  contradictionsIn: (settings) => [
    selectionsOf(settings) !== 1 && 'give one of --selector, --node or --candidate',
  ],
};

const undrainRows = {
  ...inspectionRows,
  ...selectionRows,
  ...inGroup('Candidates:', { all: toggle('all', 'every candidate') }),
  ...output,
};

export const undrainSettings: SettingsTable<SettingsOf<typeof undrainRows>> = {
  envPrefix: 'CLE_UNDRAIN',
  settings: undrainRows,
  contradictionsIn: (settings) => [
    selectionsOf(settings) !== (settings.all ? 0 : 1) &&
      'give one of --selector, --node, --candidate or --all',
  ],
};

export type MovingSettings = SettingsOf<typeof inspectionRows & typeof movingRows>;
/**
 * The candidates to drain or undrain. Exactly one of `selector`, `node` and `candidate` is set. With --all, none is set.
 */
export type SelectionSettings = SettingsOf<typeof selectionRows>;
export type TransferSettings = SettingsOf<typeof transferRows>;
export type DrainSettings = SettingsOf<typeof drainRows>;
export type UndrainSettings = SettingsOf<typeof undrainRows>;

function selectionsOf({ selector, node, candidate }: SelectionSettings): number {
  return [selector, node, candidate].filter((given) => given !== undefined).length;
}
