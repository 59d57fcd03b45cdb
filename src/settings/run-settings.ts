import { coordinatorLease } from '../election/model.ts';
import { formatDurationMs } from '../support/text.ts';
import {
  type Contradictions,
  duration,
  inGroup,
  listenAddress,
  logLevel,
  namespaces,
  oneNamespace,
  option,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
  wholeNumber,
  wholeSeconds,
} from './settings-table.ts';

const settings = {
  ...inGroup('Cluster:', {
    kubeconfig: option('kubeconfig', text('<path>'), 'kubeconfig of the cluster to coordinate', {
      defaultNote: '$KUBECONFIG, else the service account of its pod, else ~/.kube/config',
    }),
    context: option('context', text('<name>'), 'context within the kubeconfig', {
      defaultNote: "the kubeconfig's current one",
    }),
    namespaces: option(
      'namespace',
      namespaces,
      'coordinate only this namespace; repeat it, or separate names by commas, for more',
      { short: 'n', repeatable: true, default: '', defaultNote: 'all' },
    ),
  }),
  ...inGroup('Coordination:', {
    dryRun: toggle('dry-run', 'decide and log, but write nothing to the cluster'),
    takeOver: toggle(
      'take-over',
      'wait until the controller built into kube-apiserver releases the lock, instead of taking it by force',
      'true',
    ),
    lockNamespace: option(
      'lock-namespace',
      oneNamespace,
      "namespace of the coordinator's lock; other than kube-system only if the API server does not serve native LeaseCandidates",
      { default: coordinatorLease.namespace },
    ),
    leaderLabel: toggle(
      'leader-label',
      "keep a label on each leader's Pod, so that a Service can select it; needs permissions for Pods",
    ),
    isCrashEvidenceUsed: toggle(
      'watch-pods',
      'watch Pods, and replace a leader whose container has ended before the Lease expires; needs permissions for Pods',
    ),
    workers: option(
      'workers',
      wholeNumber({ min: 1, max: 256 }),
      'maximum writes to Leases and candidates in flight',
      { default: '32' },
    ),
    electionDurationMs: option(
      'election-duration',
      duration({ min: '100ms', max: '5m' }),
      'how long an election waits for candidates to answer',
      { default: '5s' },
    ),
    // A client-go elector polls its Lease about every 2 s. A shorter Lease would expire before the new holder reads it.
    // With a longer Lease, a crash of the holder before its first renewal leaves the Lease without a leader for longer.
    leaseDurationSeconds: option(
      'lease-duration',
      wholeSeconds({ min: '3s', max: '1h' }),
      'duration of a grant until the first renewal by the new leader, in whole seconds',
      { default: '10s' },
    ),
    settleMs: option(
      'settle-time',
      duration({ min: '0s', max: '1m' }),
      'maximum time for which the first election of a Lease waits for more candidates; it ends early if no candidate appears for 7.5 % of this time; 0s: no wait',
      { default: '1s' },
    ),
    candidateValidityMs: option(
      'candidate-validity',
      duration({ min: '1s', max: '168h' }),
      'how long a candidate is valid after its last renewal',
      { default: '30m' },
    ),
    candidateGcAfterMs: option(
      'candidate-gc-after',
      duration({ min: '1s', max: '720h' }),
      'delete a candidate that has not renewed for this long and answers no ping',
      { default: '2h' },
    ),
  }),
  ...inGroup('Observation:', {
    listen: option(
      'listen',
      listenAddress,
      'serve /metrics, /livez and /readyz there; "off" serves nothing',
      {
        default: '0.0.0.0:8080',
      },
    ),
    leaseMetrics: toggle(
      'lease-metrics',
      'add series for each Lease to /metrics; their number grows with the cluster',
    ),
    statusPage: toggle(
      'status-page',
      'serve a page there that shows every Lease, its candidates and recent elections',
    ),
    logLevel: option('log-level', logLevel, 'debug, info, warn or error', { default: 'info' }),
  }),
};

export type RunSettings = SettingsOf<typeof settings>;

export const runSettings = {
  envPrefix: 'CLE',
  settings,
  contradictionsIn,
} satisfies SettingsTable<RunSettings>;

function contradictionsIn(given: RunSettings): Contradictions {
  const { electionDurationMs, candidateValidityMs, candidateGcAfterMs } = given;
  const leaseDurationMs = given.leaseDurationSeconds * 1000;
  const election = named('electionDurationMs', electionDurationMs);
  const validity = named('candidateValidityMs', candidateValidityMs);
  return [
    electionDurationMs >= leaseDurationMs &&
      `${election} must be shorter than ${named('leaseDurationSeconds', leaseDurationMs)}: an election that outlasts a Lease leaves it without a leader`,
    candidateValidityMs < 2 * electionDurationMs &&
      `${validity} must be at least twice ${election}: candidates are pinged at half their validity and need time to answer`,
    candidateGcAfterMs <= candidateValidityMs &&
      `${named('candidateGcAfterMs', candidateGcAfterMs)} must be longer than ${validity}: a candidate that still counts must not be deleted`,
    given.statusPage &&
      given.listen === undefined &&
      `--${settings.statusPage.flag} needs an address, and --${settings.listen.flag} is off`,
  ];
}

function named(key: keyof RunSettings, durationMs: number): string {
  return `--${settings[key].flag} (${formatDurationMs(durationMs)})`;
}
