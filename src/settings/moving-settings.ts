import { inspectionRows, lockRow, outputRow, statusSettings } from './inspection-settings.ts';
import { duration, inGroup, type SettingsOf, type SettingsTable, text, toggle } from './settings-table.ts';

const output = outputRow('table', 'json', 'yaml');

/** The settings that `transfer` and `drain` share. */
const movingRows = {
  ...lockRow,
  ...inGroup('Time:', {
    forMs: {
      flag: 'for',
      placeholder: '<duration>',
      default: '1h',
      description: 'how long the priority lasts, at most 24h',
      parse: duration({ min: '1s', max: '24h' }),
    },
    timeoutMs: {
      flag: 'timeout',
      placeholder: '<duration>',
      default: '2m',
      description: 'how long to wait for leaders to move',
      parse: duration({ min: '1s', max: '1h' }),
    },
  }),
  ...output,
};

const selectionRows = {
  allNamespaces: statusSettings.settings.allNamespaces,
  ...inGroup('Candidates:', {
    selector: {
      ...selecting('selector', '<labels>', 'candidates with these labels, as kubectl has them'),
      short: 'l',
    },
    node: selecting('node', '<name>', 'candidates whose ownerReference is a Pod on this node'),
    candidate: selecting('candidate', '<name>', 'the candidate of this name'),
  }),
};

function selecting(flag: string, placeholder: string, description: string) {
  return { flag, placeholder, default: undefined, description, parse: text };
}

const transferRows = {
  ...inspectionRows,
  ...inGroup('Candidates:', {
    to: {
      flag: 'to',
      placeholder: '<candidate>',
      default: '',
      defaultNote: 'has to be given',
      description: 'name of the candidate that should lead',
      parse: (given: string) => ({ value: given }),
    },
  }),
  ...movingRows,
};

export const transferSettings: SettingsTable<SettingsOf<typeof transferRows>> = {
  envPrefix: 'CLE_TRANSFER',
  settings: transferRows,
  contradictionsIn: ({ to }) => (to === '' ? ['no candidate is named: give --to candidate'] : []),
};

const drainRows = { ...inspectionRows, ...selectionRows, ...movingRows };

export const drainSettings: SettingsTable<SettingsOf<typeof drainRows>> = {
  envPrefix: 'CLE_DRAIN',
  settings: drainRows,
  contradictionsIn: (settings) =>
    contradictionsOf(selectionsOf(settings), '--selector, --node or --candidate'),
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
  contradictionsIn: (settings) =>
    contradictionsOf(
      selectionsOf(settings) + (settings.all ? 1 : 0),
      '--selector, --node, --candidate or --all',
    ),
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

function contradictionsOf(given: number, flags: string): readonly string[] {
  return given === 1 ? [] : [`give one of ${flags}`];
}
