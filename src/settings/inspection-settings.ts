import type { ElectionSettings } from '../election/model.ts';
import { runSettings } from './run-settings.ts';
import {
  boolean,
  duration,
  oneNamespace,
  type Parser,
  type Setting,
  type SettingsTable,
} from './settings-table.ts';

export type OutputFormat = 'table' | 'wide' | 'json' | 'yaml';

/** The cluster to inspect. */
export interface ClusterSettings {
  /** Path of a kubeconfig; undefined for the usual places. */
  readonly kubeconfig: string | undefined;
  /** Context in the kubeconfig; undefined for the current one. */
  readonly context: string | undefined;
  /** Undefined for the context's namespace, as in kubectl. */
  readonly namespace: string | undefined;
}

/** The cluster to inspect, and the durations that its coordinator uses. */
export interface InspectionSettings extends ClusterSettings, ElectionSettings {}

export interface AuditSettings extends ClusterSettings {
  readonly allNamespaces: boolean;
  /** How long to watch, in milliseconds; 0 to look once. */
  readonly forMs: number;
  readonly output: OutputFormat;
}

export interface StatusSettings extends InspectionSettings {
  readonly allNamespaces: boolean;
  readonly output: OutputFormat;
  readonly watch: boolean;
}

export interface ExplainSettings extends InspectionSettings {
  /** The namespace of the coordinator's lock. */
  readonly lockNamespace: string;
  readonly output: OutputFormat;
}

export interface PlanSettings extends InspectionSettings {
  readonly output: OutputFormat;
  /** Each is `name=binaryVersion/emulationVersion`. */
  readonly add: readonly string[];
  readonly remove: readonly string[];
  /** Each is `name=priority`. */
  readonly priority: readonly string[];
  /** `name=binaryVersion/emulationVersion`; undefined for no rolling update. */
  readonly rollout: string | undefined;
  /** Paths of files with LeaseCandidates, `-` for the standard input. */
  readonly file: readonly string[];
}

export interface DoctorSettings extends InspectionSettings {
  /** The namespace of the coordinator's lock. */
  readonly lockNamespace: string;
  /** Whether the coordinator labels the Pods of leaders. */
  readonly leaderLabel: boolean;
  readonly output: OutputFormat;
}

const { kubeconfig, context, lockNamespace, leaderLabel } = runSettings.settings;
const JUDGEMENT = 'Judgement, as the coordinator was started:';

const names: Parser<readonly string[]> = (given) => ({
  value: given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== ''),
});

const clusterRows: SettingsTable<ClusterSettings>['settings'] = {
  kubeconfig: { ...kubeconfig, description: 'kubeconfig of the cluster to look at' },
  context,
  namespace: {
    flag: 'namespace',
    short: 'n',
    placeholder: '<name>',
    default: undefined,
    defaultNote: "the context's, else default",
    description: 'look into this namespace',
    group: 'Cluster:',
    parse: oneNamespace,
  },
};

const allNamespaces: Setting<boolean> = {
  flag: 'all-namespaces',
  short: 'A',
  default: 'false',
  description: 'look into every namespace',
  group: 'Cluster:',
  parse: boolean,
};

/** Settings that the commands share which judge by the coordinator's rules. */
export const inspectionRows: SettingsTable<InspectionSettings>['settings'] = {
  ...clusterRows,
  ...durationsOf(runSettings.settings),
};

/** Returns the rows of durations. The values must equal those of the coordinator. */
function durationsOf(rows: SettingsTable<ElectionSettings>['settings']): typeof rows {
  const group = JUDGEMENT;
  return {
    electionDurationMs: { ...rows.electionDurationMs, group },
    leaseDurationSeconds: { ...rows.leaseDurationSeconds, group },
    candidateValidityMs: { ...rows.candidateValidityMs, group },
    candidateGcAfterMs: { ...rows.candidateGcAfterMs, group },
  };
}

/** The setting for commands that read the lock. */
export const lockRow: Setting<string> = {
  ...lockNamespace,
  group: JUDGEMENT,
  description: "namespace of the coordinator's lock",
};

/** Returns the setting for commands with these output formats. */
export function outputRow(...formats: readonly OutputFormat[]): Setting<OutputFormat> {
  return {
    flag: 'output',
    short: 'o',
    placeholder: '<format>',
    default: 'table',
    defaultNote: 'for people to read',
    description: formats.filter((format) => format !== 'table').join(', '),
    group: 'Output:',
    parse: (given) => {
      const found = formats.find((format) => format === given);
      return found === undefined ? { problem: `is none of ${formats.join(', ')}` } : { value: found };
    },
  };
}

export const auditSettings: SettingsTable<AuditSettings> = {
  envPrefix: 'CLE_AUDIT',
  settings: {
    ...clusterRows,
    allNamespaces,
    forMs: {
      flag: 'for',
      placeholder: '<duration>',
      default: '30s',
      description: 'how long to watch renewals; 0s looks once',
      group: 'Time:',
      parse: duration({ min: '0s', max: '1h' }),
    },
    output: outputRow('table', 'wide', 'json', 'yaml'),
  },
};

export const statusSettings: SettingsTable<StatusSettings> = {
  envPrefix: 'CLE_STATUS',
  settings: {
    ...inspectionRows,
    allNamespaces,
    output: outputRow('table', 'wide', 'json', 'yaml'),
    watch: {
      flag: 'watch',
      short: 'w',
      default: 'false',
      description: 'go on, and show each Lease again that changes',
      group: 'Output:',
      parse: boolean,
    },
  },
  contradictionsIn: ({ watch, output }) =>
    watch && (output === 'json' || output === 'yaml')
      ? [`--watch shows rows as they change: give no --output, or --output wide, rather than ${output}`]
      : [],
};

export const explainSettings: SettingsTable<ExplainSettings> = {
  envPrefix: 'CLE_EXPLAIN',
  settings: { ...inspectionRows, lockNamespace: lockRow, output: outputRow('table', 'json', 'yaml') },
};

const NOTHING_PLANNED =
  'nothing is planned: give --add name=binary/emulation, --remove name, --priority name=number, -f file, or --rollout ' +
  'name=binary/emulation';

export const planSettings: SettingsTable<PlanSettings> = {
  envPrefix: 'CLE_PLAN',
  settings: {
    ...inspectionRows,
    add: {
      flag: 'add',
      placeholder: '<name=binary/emulation>',
      repeatable: true,
      default: '',
      defaultNote: 'none',
      description: 'a candidate that appears, or comes back with other versions; may be given several times',
      group: 'Changes:',
      parse: names,
    },
    remove: {
      flag: 'remove',
      placeholder: '<name>',
      repeatable: true,
      default: '',
      defaultNote: 'none',
      description: 'a candidate that is stopped and deleted; may be given several times',
      group: 'Changes:',
      parse: names,
    },
    priority: {
      flag: 'priority',
      placeholder: '<name=number>',
      repeatable: true,
      default: '',
      defaultNote: 'none',
      description: 'a candidate that is given this priority; may be given several times',
      group: 'Changes:',
      parse: names,
    },
    rollout: {
      flag: 'rollout',
      placeholder: '<name=binary/emulation>',
      default: undefined,
      defaultNote: 'none',
      description:
        'a rolling update of the candidates whose names begin so: how often the leader changes, under each strategy',
      group: 'Changes:',
      parse: (given) => ({ value: given }),
    },
    file: {
      flag: 'file',
      short: 'f',
      placeholder: '<path>',
      repeatable: true,
      default: '',
      defaultNote: 'none',
      description:
        'LeaseCandidates that appear, as YAML or JSON; - is the standard input; may be given several times',
      group: 'Changes:',
      parse: names,
    },
    output: outputRow('table', 'json', 'yaml'),
  },
  contradictionsIn: ({ add, remove, priority, rollout, file }) => {
    const changes = add.length + remove.length + priority.length + file.length;
    if (rollout === undefined) return changes > 0 ? [] : [NOTHING_PLANNED];
    return changes > 0 ? ['--rollout is planned by itself: leave out the other changes'] : [];
  },
};

export const doctorSettings: SettingsTable<DoctorSettings> = {
  envPrefix: 'CLE_DOCTOR',
  settings: {
    ...inspectionRows,
    lockNamespace: lockRow,
    leaderLabel: {
      ...leaderLabel,
      group: JUDGEMENT,
      description: "examine also what it needs to keep a label on each leader's Pod",
    },
    output: outputRow('table', 'json', 'yaml'),
  },
};
