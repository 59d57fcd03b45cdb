import {
  type InspectionSettings,
  inspectionRows,
  lockRow,
  type OutputFormat,
  outputRow,
  statusSettings,
} from './inspection-settings.ts';
import { boolean, duration, type Setting, type SettingsTable, text } from './settings-table.ts';

/** The settings that `transfer` and `drain` share. */
export interface MovingSettings extends InspectionSettings {
  /** The namespace of the coordinator's lock. */
  readonly lockNamespace: string;
  /** How long the priority lasts, in milliseconds. */
  readonly forMs: number;
  /** How long to wait for leaders to move, in milliseconds. */
  readonly timeoutMs: number;
  readonly output: OutputFormat;
}

export interface TransferSettings extends MovingSettings {
  /** Name of the candidate that should lead. */
  readonly to: string;
}

/** The candidates to drain or undrain. Exactly one of these fields is set. */
export interface SelectionSettings {
  readonly allNamespaces: boolean;
  readonly selector: string | undefined;
  readonly node: string | undefined;
  readonly candidate: string | undefined;
}

export interface DrainSettings extends MovingSettings, SelectionSettings {}

export interface UndrainSettings extends InspectionSettings, SelectionSettings {
  readonly all: boolean;
  readonly output: OutputFormat;
}

const output = outputRow('table', 'json', 'yaml');

const movingRows: Pick<
  SettingsTable<MovingSettings>['settings'],
  'lockNamespace' | 'forMs' | 'timeoutMs' | 'output'
> = {
  lockNamespace: lockRow,
  forMs: {
    flag: 'for',
    placeholder: '<duration>',
    default: '1h',
    description: 'when it ends by itself, at most 24h',
    group: 'Time:',
    parse: duration({ min: '1s', max: '24h' }),
  },
  timeoutMs: {
    flag: 'timeout',
    placeholder: '<duration>',
    default: '2m',
    description: 'how long to wait for leaders to move',
    group: 'Time:',
    parse: duration({ min: '1s', max: '1h' }),
  },
  output,
};

const selectionRows: SettingsTable<SelectionSettings>['settings'] = {
  allNamespaces: statusSettings.settings.allNamespaces,
  selector: {
    ...selecting('selector', '<labels>', 'candidates with these labels, as kubectl has them'),
    short: 'l',
  },
  node: selecting('node', '<name>', 'candidates whose ownerReference is a Pod on this node'),
  candidate: selecting('candidate', '<name>', 'the candidate of this name'),
};

function selecting(flag: string, placeholder: string, description: string): Setting<string | undefined> {
  const group = 'Candidates:';
  return { flag, placeholder, default: undefined, defaultNote: 'none', description, group, parse: text };
}

export const transferSettings: SettingsTable<TransferSettings> = {
  envPrefix: 'CLE_TRANSFER',
  settings: {
    ...inspectionRows,
    to: {
      flag: 'to',
      placeholder: '<candidate>',
      default: '',
      defaultNote: 'has to be given',
      description: 'name of the candidate that is to lead',
      group: 'Candidates:',
      parse: (given) => ({ value: given }),
    },
    ...movingRows,
  },
  contradictionsIn: ({ to }) => (to === '' ? ['it is not said who is to lead: give --to candidate'] : []),
};

export const drainSettings: SettingsTable<DrainSettings> = {
  envPrefix: 'CLE_DRAIN',
  settings: { ...inspectionRows, ...selectionRows, ...movingRows },
  contradictionsIn: (settings) =>
    contradictionsOf(selectionsOf(settings), '--selector, --node or --candidate'),
};

export const undrainSettings: SettingsTable<UndrainSettings> = {
  envPrefix: 'CLE_UNDRAIN',
  settings: {
    ...inspectionRows,
    ...selectionRows,
    all: {
      flag: 'all',
      default: 'false',
      description: 'every candidate',
      group: 'Candidates:',
      parse: boolean,
    },
    output,
  },
  contradictionsIn: (settings) =>
    contradictionsOf(
      selectionsOf(settings) + (settings.all ? 1 : 0),
      '--selector, --node, --candidate or --all',
    ),
};

function selectionsOf({ selector, node, candidate }: SelectionSettings): number {
  return [selector, node, candidate].filter((given) => given !== undefined).length;
}

function contradictionsOf(given: number, flags: string): readonly string[] {
  return given === 1 ? [] : [`give one of ${flags}`];
}
