import { coordinatorLease } from '../election/model.ts';
import { formatDurationMs } from '../support/text.ts';
import {
  duration,
  inGroup,
  listenAddress,
  logLevel,
  namespaces,
  oneNamespace,
  option,
  type SettingsOf,
  settingsTable,
  text,
  toggle,
  wholeNumber,
} from './settings-table.ts';

const settings = {
  ...inGroup('Cluster:', {
    kubeconfig: option('kubeconfig', text('<path>'), {
      description: 'kubeconfig of the cluster to coordinate',
      defaultNote: '$KUBECONFIG, else the service account of its pod, else ~/.kube/config',
    }),
    context: option('context', text('<name>'), {
      description: 'context within the kubeconfig',
      defaultNote: "the kubeconfig's current one",
    }),
    namespaces: option('namespace', namespaces, {
      short: 'n',
      description: 'coordinate only this namespace; repeat it, or separate names by commas, for more',
      repeatable: true,
      default: '',
      defaultNote: 'all',
    }),
  }),
  ...inGroup('Coordination:', {
    dryRun: toggle('dry-run', 'decide and log, but write nothing to the cluster'),
    takeOver: toggle(
      'take-over',
      'wait until the controller built into kube-apiserver releases the lock, instead of taking it by force',
      'true',
    ),
    lockNamespace: option('lock-namespace', oneNamespace, {
      description:
        "namespace of the coordinator's lock; other than kube-system only if the API server does not serve native LeaseCandidates",
      default: coordinatorLease.namespace,
    }),
    leaderLabel: toggle(
      'leader-label',
      "keep a label on each leader's Pod, so that a Service can select it; needs permissions for Pods",
    ),
    isCrashEvidenceUsed: toggle(
      'watch-pods',
      'watch Pods, and replace a leader whose container has ended before the Lease expires; needs permissions for Pods',
    ),
    workers: option('workers', wholeNumber(1, 256), {
      description: 'maximum writes to Leases and candidates in flight',
      default: '32',
    }),
    electionDurationMs: option('election-duration', duration('100ms', '5m'), {
      description: 'how long an election waits for candidates to answer',
      default: '5s',
    }),
    // By default, a client-go elector reads its Lease every 2.0 to 4.4 s, so a very short grant may expire before the
    // elector sees it. If the holder crashes before its first renewal, a long grant may leave the Lease without a
    // leader for a long time.
    leaseDurationSeconds: option('lease-duration', duration('3s', '1h', 1000), {
      description: 'duration of a grant until the first renewal by the new leader, in whole seconds',
      default: '10s',
    }),
    settleMs: option('settle-time', duration('0s', '1m'), {
      description:
        'maximum time for which the first election of a Lease waits for more candidates; it ends early if no candidate appears for 7.5 % of this time; 0s: no wait',
      default: '1s',
    }),
    candidateValidityMs: option('candidate-validity', duration('1s', '168h'), {
      description: 'how long a candidate is valid after its last renewal',
      default: '30m',
    }),
    candidateGcAfterMs: option('candidate-gc-after', duration('1s', '720h'), {
      description: 'delete a candidate that has not renewed for this long and answers no ping',
      default: '2h',
    }),
  }),
  ...inGroup('Observation:', {
    listen: option('listen', listenAddress, {
      description: 'serve /metrics, /livez and /readyz there; "off" serves nothing',
      default: '0.0.0.0:8080',
    }),
    leaseMetrics: toggle(
      'lease-metrics',
      'add series for each Lease to /metrics; their number grows with the cluster',
    ),
    statusPage: toggle(
      'status-page',
      'serve a page there that shows every Lease, its candidates and recent elections',
    ),
    logLevel: option('log-level', logLevel, { description: 'debug, info, warn or error', default: 'info' }),
  }),
};

export type RunSettings = SettingsOf<typeof settings>;

export const runSettings = settingsTable('CLE', settings, (given) => {
  const leaseDurationMs = given.leaseDurationSeconds * 1000;
  const election = `--election-duration (${formatDurationMs(given.electionDurationMs)})`;
  const validity = `--candidate-validity (${formatDurationMs(given.candidateValidityMs)})`;
  return [
    given.electionDurationMs >= leaseDurationMs &&
      `${election} must be shorter than --lease-duration (${formatDurationMs(leaseDurationMs)}): an election that outlasts a Lease leaves it without a leader`,
    given.candidateValidityMs < 2 * given.electionDurationMs &&
      `${validity} must be at least twice ${election}: candidates are pinged at half their validity and need time to answer`,
    given.candidateGcAfterMs <= given.candidateValidityMs &&
      `--candidate-gc-after (${formatDurationMs(given.candidateGcAfterMs)}) must be longer than ${validity}: a candidate that is still valid must not be deleted`,
    given.statusPage && given.listen === undefined && '--status-page needs an address, and --listen is off',
  ];
});
