import { runSettings } from './run-settings.ts';
import {
  duration,
  inGroup,
  namesIn,
  oneNamespace,
  oneOf,
  option,
  type SettingsOf,
  settingsTable,
  text,
  toggle,
} from './settings-table.ts';

const run = runSettings.settings;
const JUDGEMENT = 'Settings of the coordinator, for the same decisions:';

const clusterRows = {
  kubeconfig: { ...run.kubeconfig, description: 'kubeconfig of the cluster to inspect' },
  context: run.context,
  ...inGroup('Cluster:', {
    namespace: option('namespace', oneNamespace, {
      short: 'n',
      description: 'the namespace to inspect',
      defaultNote: "the context's, else default",
    }),
  }),
};

export type ClusterSettings = SettingsOf<typeof clusterRows>;

export const allNamespacesRow = inGroup('Cluster:', {
  allNamespaces: { ...toggle('all-namespaces', 'look into every namespace'), short: 'A' },
});

/**
 * Settings of the commands that compute decisions by the coordinator's rules. Users must give the same durations as
 * the coordinator uses, otherwise these commands may compute different decisions.
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

/** The cluster to inspect, and the durations that its coordinator uses. */
export type InspectionSettings = SettingsOf<typeof inspectionRows>;

/** The setting for commands that read the coordinators' lock. */
export const lockRow = inGroup(JUDGEMENT, {
  lockNamespace: { ...run.lockNamespace, description: "namespace of the coordinator's lock" },
});

/** Returns the `--output` setting: a table, or one of these formats. */
export function outputRow<const Format extends string>(...formats: readonly Format[]) {
  return inGroup('Output:', {
    output: option('output', oneOf('<format>', ['table', ...formats]), {
      short: 'o',
      description: formats.join(', '),
      default: 'table',
      defaultNote: 'for people to read',
    }),
  });
}

export const auditSettings = settingsTable('CLE_AUDIT', {
  ...clusterRows,
  ...allNamespacesRow,
  ...inGroup('Time:', {
    forMs: option('for', duration('0s', '1h'), {
      description: 'how long to watch renewals; 0s: read once',
      default: '30s',
    }),
  }),
  ...outputRow('wide', 'json', 'yaml'),
});

export type AuditSettings = SettingsOf<typeof auditSettings.settings>;

export const statusSettings = settingsTable(
  'CLE_STATUS',
  {
    ...inspectionRows,
    ...allNamespacesRow,
    ...outputRow('wide', 'json', 'yaml'),
    ...inGroup('Output:', {
      watch: { ...toggle('watch', 'go on, and show each Lease again that changes'), short: 'w' },
    }),
  },
  ({ watch, output }) => [
    watch &&
      (output === 'json' || output === 'yaml') &&
      `--watch shows rows as they change: give no --output, or --output wide, rather than ${output}`,
  ],
);

export type StatusSettings = SettingsOf<typeof statusSettings.settings>;

export const explainSettings = settingsTable('CLE_EXPLAIN', {
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
});

export type ExplainSettings = SettingsOf<typeof explainSettings.settings>;

const NOTHING_PLANNED =
  'nothing is planned: give --add name=binary/emulation, --remove name, --priority name=number, or --rollout name=binary/emulation';

export const planSettings = settingsTable(
  'CLE_PLAN',
  {
    ...inspectionRows,
    ...inGroup('Changes:', {
      add: changes('add', '<name=binary/emulation>', 'that appears, or restarts with other versions'),
      remove: changes('remove', '<name>', 'that is stopped and deleted'),
      priority: changes('priority', '<name=number>', 'that gets this priority'),
      rollout: option('rollout', text('<name=binary/emulation>'), {
        description:
          'a rolling update of the candidates whose names begin with NAME: how often the leader changes, for each strategy',
      }),
    }),
    ...outputRow('json', 'yaml'),
  },
  ({ add, remove, priority, rollout }) => {
    const hasChanges = [add, remove, priority].some(({ length }) => length > 0);
    return rollout === undefined
      ? [!hasChanges && NOTHING_PLANNED]
      : [hasChanges && '--rollout is planned by itself: leave out the other changes'];
  },
);

export type PlanSettings = SettingsOf<typeof planSettings.settings>;

function changes(flag: string, placeholder: string, which: string) {
  const type = { placeholder, parse: (given: string) => ({ value: namesIn(given) }) };
  const description = `a candidate ${which}; may be given several times`;
  return option(flag, type, { description, repeatable: true, default: '' });
}

export const doctorSettings = settingsTable('CLE_DOCTOR', {
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
});

export type DoctorSettings = SettingsOf<typeof doctorSettings.settings>;
