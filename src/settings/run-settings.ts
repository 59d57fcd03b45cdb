import { coordinatorLease, type ElectionSettings } from '../election/model.ts';
import type { ListenAddress } from '../support/address.ts';
import { formatDurationMs } from '../support/text.ts';
import {
  boolean,
  duration,
  type LogLevel,
  listenAddress,
  logLevel,
  namespaces,
  oneNamespace,
  type SettingsTable,
  text,
  wholeNumber,
  wholeSeconds,
} from './settings-table.ts';

export interface RunSettings extends Required<ElectionSettings> {
  /** Path of a kubeconfig; undefined for the usual places. */
  readonly kubeconfig: string | undefined;
  /** Context in the kubeconfig; undefined for the current one. */
  readonly context: string | undefined;
  /** Namespaces to coordinate; empty for all. */
  readonly namespaces: readonly string[];
  /** Decide and log, write nothing. */
  readonly dryRun: boolean;
  /** Take the coordinator's lock from the controller built into kube-apiserver instead of waiting for it. */
  readonly takeOver: boolean;
  /** The namespace of the coordinator's lock. */
  readonly lockNamespace: string;
  /** Keep a label on the Pod of each leader. */
  readonly leaderLabel: boolean;
  /** Maximum number of writes in flight. */
  readonly workers: number;
  /** Undefined for no HTTP server. */
  readonly listen: ListenAddress | undefined;
  /** Serve the status page too, on `listen`. */
  readonly statusPage: boolean;
  readonly logLevel: LogLevel;
  /** Serve series for each Lease in /metrics. */
  readonly leaseMetrics: boolean;
}

const settings: SettingsTable<RunSettings>['settings'] = {
  kubeconfig: {
    flag: 'kubeconfig',
    placeholder: '<path>',
    default: undefined,
    defaultNote: '$KUBECONFIG, else the service account of its pod, else ~/.kube/config',
    description: 'kubeconfig of the cluster to coordinate',
    group: 'Cluster:',
    parse: text,
  },
  context: {
    flag: 'context',
    placeholder: '<name>',
    default: undefined,
    defaultNote: "the kubeconfig's current one",
    description: 'context within the kubeconfig',
    group: 'Cluster:',
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
    group: 'Cluster:',
    parse: namespaces,
  },
  dryRun: {
    flag: 'dry-run',
    default: 'false',
    description: 'decide and log, but write nothing to the cluster',
    group: 'Coordination:',
    parse: boolean,
  },
  takeOver: {
    flag: 'take-over',
    default: 'true',
    description: 'wait until the controller built into kube-apiserver lets go, rather than replace it',
    group: 'Coordination:',
    parse: boolean,
  },
  lockNamespace: {
    flag: 'lock-namespace',
    placeholder: '<name>',
    default: coordinatorLease.namespace,
    description:
      "keep the coordinator's lock in this namespace; another than kube-system only where the API server serves no LeaseCandidates of its own",
    group: 'Coordination:',
    parse: oneNamespace,
  },
  leaderLabel: {
    flag: 'leader-label',
    default: 'false',
    description: "keep a label on each leader's Pod, for a Service to select it; needs rights on Pods",
    group: 'Coordination:',
    parse: boolean,
  },
  isCrashEvidenceUsed: {
    flag: 'watch-pods',
    default: 'false',
    description:
      'watch Pods, and end the Lease of a leader whose container has ended before it expires; needs rights on Pods',
    group: 'Coordination:',
    parse: boolean,
  },
  workers: {
    flag: 'workers',
    placeholder: '<number>',
    default: '32',
    description: 'Writes to Leases and candidates under way at once, at most',
    group: 'Coordination:',
    parse: wholeNumber({ min: 1, max: 256 }),
  },
  electionDurationMs: {
    flag: 'election-duration',
    placeholder: '<duration>',
    default: '5s',
    description: 'how long an election waits for candidates to answer',
    group: 'Coordination:',
    parse: duration({ min: '100ms', max: '5m' }),
  },
  leaseDurationSeconds: {
    flag: 'lease-duration',
    placeholder: '<duration>',
    default: '10s',
    description: 'how long a Lease given to a new leader lasts until its first renewal, in whole seconds',
    group: 'Coordination:',
    // A client-go elector polls its Lease about every 2 s: a shorter Lease would expire before the new holder reads it. If
    // the holder of a longer Lease crashes before its first renewal, there is no leader until the Lease expires.
    parse: wholeSeconds({ min: '3s', max: '1h' }),
  },
  settleMs: {
    flag: 'settle-time',
    placeholder: '<duration>',
    default: '1s',
    description:
      'how long the first election of a Lease waits for more candidates, at most; the wait ends when no candidate has appeared for 7.5 % of this time; 0s: no wait',
    group: 'Coordination:',
    parse: duration({ min: '0s', max: '1m' }),
  },
  candidateValidityMs: {
    flag: 'candidate-validity',
    placeholder: '<duration>',
    default: '30m',
    description: 'how long a candidate counts after it last renewed',
    group: 'Coordination:',
    parse: duration({ min: '1s', max: '168h' }),
  },
  candidateGcAfterMs: {
    flag: 'candidate-gc-after',
    placeholder: '<duration>',
    default: '2h',
    description: 'delete a candidate that has not renewed for this long and answers no ping',
    group: 'Coordination:',
    parse: duration({ min: '1s', max: '720h' }),
  },
  listen: {
    flag: 'listen',
    placeholder: '<host:port>',
    default: '0.0.0.0:8080',
    description: 'serve /metrics, /livez and /readyz there; "off" serves nothing',
    group: 'Observation:',
    parse: listenAddress,
  },
  leaseMetrics: {
    flag: 'lease-metrics',
    default: 'false',
    description: 'have series for each single Lease in /metrics; their number grows with the cluster',
    group: 'Observation:',
    parse: boolean,
  },
  statusPage: {
    flag: 'status-page',
    default: 'false',
    description: 'serve a page there that shows every Lease, its candidates and recent elections',
    group: 'Observation:',
    parse: boolean,
  },
  logLevel: {
    flag: 'log-level',
    placeholder: '<level>',
    default: 'info',
    description: 'debug, info, warn or error',
    group: 'Observation:',
    parse: logLevel,
  },
};

export const runSettings: SettingsTable<RunSettings> = { envPrefix: 'CLE', settings, contradictionsIn };

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
