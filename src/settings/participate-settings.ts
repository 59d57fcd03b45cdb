import { parseInt32 } from '../coordination/candidate-priority.ts';
import { parseVersion } from '../election/strategies.ts';
import { SAFE_SHARE } from '../support/clock.ts';
import { formatDurationMs } from '../support/text.ts';
import { MAX_SOCKET_PATH_BYTES } from '../support/unix-socket.ts';
import { inspectionRows } from './inspection-settings.ts';
import { runSettings } from './run-settings.ts';
import {
  type Contradictions,
  duration,
  inGroup,
  listenAddress,
  namesIn,
  option,
  type SettingsOf,
  settingsTable,
  text,
  toggle,
  type ValueType,
  valueType,
} from './settings-table.ts';

// The Kubernetes syntax of labels. The key may have a domain as prefix. The value may be empty.
const KEY = /(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?/;
const VALUE = /(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?/;
const LABEL = new RegExp(`^(${KEY.source})=(${VALUE.source})$`);

/** `key=value` pairs, separated by commas. */
const candidateLabels: ValueType<Readonly<Record<string, string>>> = {
  placeholder: '<key=value>',
  parse(given) {
    const labels: Record<string, string> = {};
    for (const pair of namesIn(given)) {
      const [, key, value] = LABEL.exec(pair) ?? [];
      if (key === undefined || value === undefined)
        return { problem: `has ${pair}, which is no label; give key=value` };
      labels[key] = value;
    }
    return { value: labels };
  },
};

const version = valueType('<version>', 'is not a semantic version; give e.g. 1.4.2', (given) =>
  parseVersion(given) ? given : undefined,
);

const int32 = valueType('<number>', 'is not a whole number of 32 bits', parseInt32);

const httpUrl = valueType(
  '<url>',
  'is not an http:// URL; give e.g. http://127.0.0.1:8080/readyz',
  (given) => {
    const url = URL.parse(given);
    return url?.protocol === 'http:' ? url : undefined;
  },
);

const path = text('<path>');
const socketPath: ValueType<string> = {
  ...path,
  parse(given) {
    if (Buffer.byteLength(given) <= MAX_SOCKET_PATH_BYTES) return path.parse(given);
    return { problem: `is longer than ${MAX_SOCKET_PATH_BYTES} bytes, the limit of Unix sockets` };
  },
};

const settings = {
  kubeconfig: { ...inspectionRows.kubeconfig, description: 'kubeconfig of the cluster of the Lease' },
  context: inspectionRows.context,
  namespace: { ...inspectionRows.namespace, description: 'namespace of the Lease' },
  ...inGroup('Candidate:', {
    identity: option('identity', text('<name>'), {
      description: 'name of the candidate and of the holder; must be unique among running programs',
      defaultNote: "$POD_NAME and the first 8 characters of $POD_UID, else the host's name and a random part",
    }),
    // The default is above 0.0.0, because emulationVersion defaults to binaryVersion: kube-apiserver rejects the
    // emulationVersion 0.0.0 if the strategy is OldestEmulationVersion.
    binaryVersion: option('binary-version', version, {
      description: "the program's version",
      default: '0.0.1',
    }),
    emulationVersion: option('emulation-version', version, {
      description: 'the version that the program emulates',
      defaultNote: "the program's version",
    }),
    strategy: option('strategy', text('<name>'), {
      description: 'the strategy that chooses the leader',
      defaultNote: 'OldestEmulationVersion',
    }),
    priority: option('priority', int32, {
      description: 'counts before versions; a leader gives way to a candidate with a higher priority',
      default: '0',
    }),
    labels: option('labels', candidateLabels, {
      description: "the candidate's labels, separated by commas",
      repeatable: true,
      default: '',
    }),
    healthListen: option('health-listen', listenAddress, {
      description:
        'serve /livez, /readyz and /metrics there; /readyz returns 200 after the candidate is published',
      default: 'off',
    }),
  }),
  ...inGroup('Time:', {
    leaseDurationSeconds: option('lease-duration', duration('3s', '1h', 1000), {
      description: 'how long the Lease is valid after its last renewal, in whole seconds',
      default: '15s',
    }),
    renewDeadlineMs: option('renew-deadline', duration('1s', '1h'), {
      description:
        'time from its last renewal until the leader must stop; the rest of the lease duration is for stopping',
      default: '10s',
    }),
    retryPeriodMs: option('retry-period', duration('100ms', '10m'), {
      description: 'how often the leader renews',
      default: '2s',
    }),
  }),
  ...inGroup('Sidecar, without a command:', {
    listen: option('listen', listenAddress, {
      description: 'serve the name of the leader there; "off" serves nothing',
      default: '127.0.0.1:4040',
    }),
    socket: option('socket', socketPath, {
      description: 'also serve the name of the leader on a Unix socket',
    }),
    leadByConnection: toggle(
      'lead-by-connection',
      'be a candidate while a program keeps a GET /lead open, and release the Lease after it has closed the connection',
    ),
    readyUrl: option('ready-url', httpUrl, {
      description: 'yield and do not be a candidate while this URL does not answer 2xx',
    }),
    candidateOnly: toggle(
      'candidate-only',
      'only publish the candidate, for a program that has its own coordinated elector',
    ),
  }),
  logLevel: runSettings.settings.logLevel,
};

export type ParticipateSettings = SettingsOf<typeof settings>;

export const participateSettings = settingsTable('CLE_PARTICIPATE', settings, contradictionsIn);

/** Returns one sentence for each given setting that cannot be used together with a command. */
export function contradictionsWith(command: readonly string[], given: ParticipateSettings): Contradictions {
  if (command.length === 0) return [];
  return (['socket', 'leadByConnection', 'readyUrl', 'candidateOnly'] as const).map((key) => {
    const flag = `--${settings[key].flag}`;
    return given[key] && `${flag} is for a program that runs by itself: leave out ${flag}, or the command`;
  });
}

/**
 * Delay of the guard's deadline after the wrapper's deadline, in ms. At its deadline, the wrapper sends SIGKILL to the
 * command, and the command then needs a moment to end.
 */
const GUARD_DELAY_MS = 250;
const LEAST_MARGIN_MS = 1000;

/**
 * Returns two times, in milliseconds after the last renewal was sent. The wrapper kills the command at `wrapperMs` at
 * the latest. If the wrapper is paused or has crashed, the guard kills the command at `guardMs` at the latest. Until
 * `guardMs`, no other candidate can lead.
 */
export function killTimes(leaseDurationMs: number): { readonly wrapperMs: number; readonly guardMs: number } {
  const wrapperMs = Math.min(
    leaseDurationMs * SAFE_SHARE - GUARD_DELAY_MS,
    leaseDurationMs - LEAST_MARGIN_MS,
  );
  return { wrapperMs, guardMs: wrapperMs + GUARD_DELAY_MS };
}

/** Interval at which the wrapper extends the guard's deadline, in ms. Short enough for renewals at the renew deadline. */
export function guardIntervalMs(leaseDurationMs: number, renewDeadlineMs: number): number {
  return Math.min(leaseDurationMs / 3, (killTimes(leaseDurationMs).guardMs - renewDeadlineMs) / 2);
}

/**
 * As in client-go, the renew deadline must be longer than this factor times the retry period, so that there is time for
 * a second attempt after a failed renewal.
 */
const JITTER = 1.2;

function contradictionsIn(given: ParticipateSettings): Contradictions {
  const { renewDeadlineMs, retryPeriodMs, binaryVersion, emulationVersion, candidateOnly } = given;
  const leaseDurationMs = given.leaseDurationSeconds * 1000;
  const { wrapperMs } = killTimes(leaseDurationMs);
  const deadline = `--renew-deadline (${formatDurationMs(renewDeadlineMs)})`;
  const binary = parseVersion(binaryVersion);
  const emulation = parseVersion(emulationVersion);
  return [
    renewDeadlineMs >= wrapperMs &&
      `${deadline} must be shorter than ${formatDurationMs(wrapperMs)}, as --lease-duration is ${formatDurationMs(leaseDurationMs)}: the command or program must stop before another candidate can lead by a faster clock`,
    retryPeriodMs * JITTER >= renewDeadlineMs &&
      `--retry-period (${formatDurationMs(retryPeriodMs)}) must be shorter than ${deadline}, by at least a sixth: otherwise there is no second attempt`,
    binary &&
      emulation &&
      emulation.compare(binary) > 0 &&
      `--emulation-version (${emulationVersion}) must not be above --binary-version (${binaryVersion})`,
    ...(['socket', 'leadByConnection'] as const).map(
      (key) =>
        candidateOnly &&
        given[key] &&
        `--${settings[key].flag} serves the name of the leader, but with --candidate-only the program has its own elector: leave it out`,
    ),
    given.leadByConnection &&
      !candidateOnly &&
      !given.listen &&
      given.socket === undefined &&
      '--lead-by-connection needs --listen or --socket, where the program asks for the lead',
    candidateOnly &&
      given.identity === undefined &&
      "--candidate-only needs --identity: the identity of the program's elector",
  ];
}
