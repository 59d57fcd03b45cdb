import { coordinatorLease } from '../election/model.ts';
import { formatDurationMs } from '../support/text.ts';
import {
  duration,
  inGroup,
  listenAddress,
  logLevel,
  namespaces,
  oneNamespace,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
  wholeNumber,
  wholeSeconds,
} from './settings-table.ts';

const settings = {
  ...inGroup('Cluster:', {
    kubeconfig: {
      flag: 'kubeconfig',
      placeholder: '<path>',
      default: undefined,
      defaultNote: '$KUBECONFIG, else the service account of its pod, else ~/.kube/config',
      description: 'kubeconfig of the cluster to coordinate',
      parse: text,
    },
    context: {
      flag: 'context',
      placeholder: '<name>',
      default: undefined,
      defaultNote: "the kubeconfig's current one",
      description: 'context within the kubeconfig',
      parse: text,
    },
    namespaces: {
      flag: 'namespace',
      short: 'n',
      placeholder: '<name>',
      repeatable: true,
      default: '',
      defaultNote: 'all',
      description: 'coordinate only this namespace; repeat it, or separate names by commas, for more',
      parse: namespaces,
    },
  }),
  ...inGroup('Coordination:', {
    dryRun: toggle('dry-run', 'decide and log, but write nothing to the cluster'),
    takeOver: toggle(
      'take-over',
      'wait until the controller built into kube-apiserver releases the lock, instead of taking it by force',
      'true',
    ),
    lockNamespace: {
      flag: 'lock-namespace',
      placeholder: '<name>',
      default: coordinatorLease.namespace,
      description:
        "namespace of the coordinator's lock; other than kube-system only if the API server does not serve native LeaseCandidates",
      parse: oneNamespace,
    },
    leaderLabel: toggle(
      'leader-label',
      "keep a label on each leader's Pod, so that a Service can select it; needs permissions for Pods",
    ),
    isCrashEvidenceUsed: toggle(
      'watch-pods',
      'watch Pods, and replace a leader whose container has ended before the Lease expires; needs permissions for Pods',
    ),
    workers: {
      flag: 'workers',
      placeholder: '<number>',
      default: '32',
      description: 'maximum writes to Leases and candidates in flight',
      parse: wholeNumber({ min: 1, max: 256 }),
    },
    electionDurationMs: {
      flag: 'election-duration',
      placeholder: '<duration>',
      default: '5s',
      description: 'how long an election waits for candidates to answer',
      parse: duration({ min: '100ms', max: '5m' }),
    },
    leaseDurationSeconds: {
      flag: 'lease-duration',
      placeholder: '<duration>',
      default: '10s',
      description: 'duration of a grant until the first renewal by the new leader, in whole seconds',
      // A client-go elector polls its Lease about every 2 s. A shorter Lease would expire before the new holder reads it.
      // With a longer Lease, a crash of the holder before its first renewal leaves the Lease without a leader for longer.
      parse: wholeSeconds({ min: '3s', max: '1h' }),
    },
    settleMs: {
      flag: 'settle-time',
      placeholder: '<duration>',
      default: '1s',
      description:
        'maximum time for which the first election of a Lease waits for more candidates; it ends early if no candidate appears for 7.5 % of this time; 0s: no wait',
      parse: duration({ min: '0s', max: '1m' }),
    },
    candidateValidityMs: {
      flag: 'candidate-validity',
      placeholder: '<duration>',
      default: '30m',
      description: 'how long a candidate is valid after its last renewal',
      parse: duration({ min: '1s', max: '168h' }),
    },
    candidateGcAfterMs: {
      flag: 'candidate-gc-after',
      placeholder: '<duration>',
      default: '2h',
      description: 'delete a candidate that has not renewed for this long and answers no ping',
      parse: duration({ min: '1s', max: '720h' }),
    },
  }),
  ...inGroup('Observation:', {
    listen: {
      flag: 'listen',
      placeholder: '<host:port>',
      default: '0.0.0.0:8080',
      description: 'serve /metrics, /livez and /readyz there; "off" serves nothing',
      parse: listenAddress,
    },
    leaseMetrics: toggle(
      'lease-metrics',
      'add series for each Lease to /metrics; their number grows with the cluster',
    ),
    statusPage: toggle(
      'status-page',
      'serve a page there that shows every Lease, its candidates and recent elections',
    ),
    logLevel: {
      flag: 'log-level',
      placeholder: '<level>',
      default: 'info',
      description: 'debug, info, warn or error',
      parse: logLevel,
    },
  }),
};

export type RunSettings = SettingsOf<typeof settings>;

export const runSettings = {
  envPrefix: 'CLE',
  settings,
  contradictionsIn,
} satisfies SettingsTable<RunSettings>;

function contradictionsIn(given: RunSettings): string[] {
  const election = named('electionDurationMs', given.electionDurationMs);
  const lease = named('leaseDurationSeconds', given.leaseDurationSeconds * 1000);
  const validity = named('candidateValidityMs', given.candidateValidityMs);
  const collection = named('candidateGcAfterMs', given.candidateGcAfterMs);
  const contradictions: string[] = [];
  if (given.electionDurationMs >= given.leaseDurationSeconds * 1000) {
    contradictions.push(
      `${election} must be shorter than ${lease}: an election that outlasts a Lease leaves it without a leader`,
    );
  }
  if (given.candidateValidityMs < 2 * given.electionDurationMs) {
    contradictions.push(
      `${validity} must be at least twice ${election}: candidates are pinged at half their validity and need time to answer`,
    );
  }
  if (given.candidateGcAfterMs <= given.candidateValidityMs) {
    contradictions.push(
      `${collection} must be longer than ${validity}: a candidate that still counts must not be deleted`,
    );
  }
  if (given.statusPage && given.listen === undefined) {
    contradictions.push(
      `--${settings.statusPage.flag} needs an address, and --${settings.listen.flag} is off`,
    );
  }
  return contradictions;
}

function named(key: keyof RunSettings, durationMs: number): string {
  return `--${settings[key].flag} (${formatDurationMs(durationMs)})`;
}
