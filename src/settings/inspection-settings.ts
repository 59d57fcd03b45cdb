import { runSettings } from './run-settings.ts';
import {
  duration,
  inGroup,
  names,
  oneNamespace,
  oneOf,
  option,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
} from './settings-table.ts';

const run = runSettings.settings;
const JUDGEMENT = 'Judgement, as the coordinator was started:';

const clusterRows = {
  kubeconfig: { ...run.kubeconfig, description: 'kubeconfig of the cluster to inspect' },
  context: run.context,
  ...inGroup('Cluster:', {
    namespace: option('namespace', oneNamespace, 'the namespace to inspect', {
      short: 'n',
      defaultNote: "the context's, else default",
    }),
  }),
};

export type ClusterSettings = SettingsOf<typeof clusterRows>;

const allNamespacesRow = inGroup('Cluster:', {
  allNamespaces: { ...toggle('all-namespaces', 'look into every namespace'), short: 'A' },
});

/**
 * Settings of the commands that decide by the coordinator's rules. The durations must be equal to the coordinator's
 * durations.
 */
export const inspectionRows = {
  ...clusterRows,
  ...inGroup(JUDGEMENT, {
    electionDurationMs: run.electionDurationMs,
    leaseDurationSeconds: run.leaseDurationSeconds,
    candidateValidityMs: run.candidateValidityMs,
    candidateGcAfterMs: run.candidateGcAfterMs,
  }),
};

/** The setting for commands that read the lock. */
export const lockRow = inGroup(JUDGEMENT, {
  lockNamespace: { ...run.lockNamespace, description: "namespace of the coordinator's lock" },
});

/** Returns the setting for commands with a table and these output formats. */
export function outputRow<const Format extends string>(...formats: readonly Format[]) {
  return inGroup('Output:', {
    output: option('output', oneOf('<format>', ['table', ...formats]), formats.join(', '), {
      short: 'o',
      default: 'table',
      defaultNote: 'for people to read',
    }),
  });
}

const auditRows = {
  ...clusterRows,
  ...allNamespacesRow,
  ...inGroup('Time:', {
    forMs: option('for', duration({ min: '0s', max: '1h' }), 'how long to watch renewals; 0s: read once', {
      default: '30s',
    }),
  }),
  ...outputRow('wide', 'json', 'yaml'),
};

export type AuditSettings = SettingsOf<typeof auditRows>;

export const auditSettings = {
  envPrefix: 'CLE_AUDIT',
  settings: auditRows,
} satisfies SettingsTable<AuditSettings>;

const statusRows = {
  ...inspectionRows,
  ...allNamespacesRow,
  ...outputRow('wide', 'json', 'yaml'),
  ...inGroup('Output:', {
    watch: { ...toggle('watch', 'go on, and show each Lease again that changes'), short: 'w' },
  }),
};

export type StatusSettings = SettingsOf<typeof statusRows>;

export const statusSettings = {
  envPrefix: 'CLE_STATUS',
  settings: statusRows,
  contradictionsIn: ({ watch, output }) => [
    watch &&
      (output === 'json' || output === 'yaml') &&
      `--watch shows rows as they change: give no --output, or --output wide, rather than ${output}`,
  ],
} satisfies SettingsTable<StatusSettings>;

const explainRows = {
  ...inspectionRows,
  ...lockRow,
  ...inGroup(JUDGEMENT, {
    isCrashEvidenceUsed: {
      ...run.isCrashEvidenceUsed,
      description:
        'for a silent holder, say which conditions of crash evidence hold; reads Pods and the Namespace',
    },
  }),
  ...outputRow('json', 'yaml'),
};

export const explainSettings: SettingsTable<SettingsOf<typeof explainRows>> = {
  envPrefix: 'CLE_EXPLAIN',
  settings: explainRows,
};

const NOTHING_PLANNED =
  'nothing is planned: give --add name=binary/emulation, --remove name, --priority name=number, or --rollout name=binary/emulation';

const planRows = {
  ...inspectionRows,
  ...inGroup('Changes:', {
    add: changes(
      'add',
      '<name=binary/emulation>',
      'a candidate that appears, or restarts with other versions; may be given several times',
    ),
    remove: changes(
      'remove',
      '<name>',
      'a candidate that is stopped and deleted; may be given several times',
    ),
    priority: changes(
      'priority',
      '<name=number>',
      'a candidate that gets this priority; may be given several times',
    ),
    rollout: option(
      'rollout',
      text('<name=binary/emulation>'),
      'a rolling update of the candidates whose names begin with NAME: how often the leader changes, for each strategy',
    ),
  }),
  ...outputRow('json', 'yaml'),
};

function changes(flag: string, placeholder: string, description: string) {
  return option(flag, names(placeholder), description, { repeatable: true, default: '' });
}

export const planSettings: SettingsTable<SettingsOf<typeof planRows>> = {
  envPrefix: 'CLE_PLAN',
  settings: planRows,
  contradictionsIn: ({ add, remove, priority, rollout }) => {
    const hasChanges = [add, remove, priority].some(({ length }) => length > 0);
    return rollout === undefined
      ? [!hasChanges && NOTHING_PLANNED]
      : [hasChanges && '--rollout is planned by itself: leave out the other changes'];
  },
};

const doctorRows = {
  ...inspectionRows,
  ...lockRow,
  ...inGroup(JUDGEMENT, {
    leaderLabel: {
      ...run.leaderLabel,
      description: "also check the permissions for labels on leaders' Pods",
    },
    isCrashEvidenceUsed: {
      ...run.isCrashEvidenceUsed,
      description: 'also check the permissions for crash evidence from Pods',
    },
  }),
  ...outputRow('json', 'yaml'),
};

export const doctorSettings: SettingsTable<SettingsOf<typeof doctorRows>> = {
  envPrefix: 'CLE_DOCTOR',
  settings: doctorRows,
};

/** The cluster to inspect, and the durations that its coordinator uses. */
export type InspectionSettings = SettingsOf<typeof inspectionRows>;
export type ExplainSettings = SettingsOf<typeof explainRows>;
export type PlanSettings = SettingsOf<typeof planRows>;
export type DoctorSettings = SettingsOf<typeof doctorRows>;
