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
  nonEmpty,
  option,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
  type ValueType,
  wholeSeconds,
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

const version: ValueType<string> = {
  placeholder: '<version>',
  parse: (given) =>
    parseVersion(given) ? { value: given } : { problem: 'is not a semantic version; give e.g. 1.4.2' },
};

const int32: ValueType<number> = {
  placeholder: '<number>',
  parse(given) {
    const number = parseInt32(given);
    return number === undefined ? { problem: 'is not a whole number of 32 bits' } : { value: number };
  },
};

const httpUrl: ValueType<URL> = {
  placeholder: '<url>',
  parse(given) {
    const url = URL.canParse(given) ? new URL(given) : undefined;
    if (url?.protocol === 'http:') return { value: url };
    return { problem: 'is not an http:// URL; give e.g. http://127.0.0.1:8080/readyz' };
  },
};

const socketPath: ValueType<string> = {
  placeholder: '<path>',
  parse(given) {
    if (Buffer.byteLength(given) <= MAX_SOCKET_PATH_BYTES) return nonEmpty(given);
    return { problem: `is longer than ${MAX_SOCKET_PATH_BYTES} bytes, the limit of Unix sockets` };
  },
};

const settings = {
  kubeconfig: { ...inspectionRows.kubeconfig, description: 'kubeconfig of the cluster of the Lease' },
  context: inspectionRows.context,
  namespace: { ...inspectionRows.namespace, description: 'namespace of the Lease' },
  ...inGroup('Candidate:', {
    identity: option(
      'identity',
      text('<name>'),
      'name of the candidate and of the holder; must be unique among running programs',
      {
        defaultNote:
          "$POD_NAME and the first 8 characters of $POD_UID, else the host's name and a random part",
      },
    ),
    // The default is lower than every later release. kube-apiserver refuses 0.0.0.
    binaryVersion: option('binary-version', version, "the program's version", { default: '0.0.1' }),
    emulationVersion: option('emulation-version', version, 'the version that the program emulates', {
      defaultNote: "the program's version",
    }),
    strategy: option('strategy', text('<name>'), 'the strategy that chooses the leader', {
      defaultNote: 'OldestEmulationVersion',
    }),
    priority: option(
      'priority',
      int32,
      'counts before versions; a leader gives way to a candidate with a higher priority',
      { default: '0' },
    ),
    labels: option('labels', candidateLabels, "the candidate's labels, separated by commas", {
      repeatable: true,
      default: '',
    }),
    healthListen: option(
      'health-listen',
      listenAddress,
      'serve /readyz there, which is 200 once the candidate is published, /livez and /metrics',
      { default: 'off' },
    ),
  }),
  ...inGroup('Time:', {
    leaseDurationSeconds: option(
      'lease-duration',
      wholeSeconds({ min: '3s', max: '1h' }),
      'how long the Lease is valid after its last renewal, in whole seconds',
      { default: '15s' },
    ),
    renewDeadlineMs: option(
      'renew-deadline',
      duration({ min: '1s', max: '1h' }),
      'how long after its last renewal the leader starts to stop; the rest of the lease duration is for stopping',
      { default: '10s' },
    ),
    retryPeriodMs: option(
      'retry-period',
      duration({ min: '100ms', max: '10m' }),
      'how often the leader renews',
      { default: '2s' },
    ),
  }),
  ...inGroup('Sidecar, without a command:', {
    listen: option('listen', listenAddress, 'serve the name of the leader there; "off" serves nothing', {
      default: '127.0.0.1:4040',
    }),
    socket: option('socket', socketPath, 'also serve the name of the leader on a Unix socket'),
    leadByConnection: toggle(
      'lead-by-connection',
      'be a candidate while a program keeps a GET /lead open, and release the Lease after it has closed the connection',
    ),
    readyUrl: option(
      'ready-url',
      httpUrl,
      'yield and do not be a candidate while this URL does not answer 2xx',
    ),
    candidateOnly: toggle(
      'candidate-only',
      'only publish the candidate, for a program that has its own coordinated elector',
    ),
  }),
  logLevel: runSettings.settings.logLevel,
};

export type ParticipateSettings = SettingsOf<typeof settings>;

export const participateSettings: SettingsTable<ParticipateSettings> = {
  envPrefix: 'CLE_PARTICIPATE',
  settings,
  contradictionsIn,
};

/** Returns the problems of settings that cannot be used together with a command. */
export function contradictionsWith(command: readonly string[], given: ParticipateSettings): Contradictions {
  if (command.length === 0) return [];
  const ofSidecars = (['socket', 'leadByConnection', 'readyUrl', 'candidateOnly'] as const)
    .filter((key) => Boolean(given[key]))
    .map((key) => `--${settings[key].flag}`);
  return ofSidecars.map(
    (flag) => `${flag} is for a program that runs by itself: leave out ${flag}, or the command`,
  );
}

/** The guard kills this much later than the wrapper, in milliseconds, because the wrapper's SIGKILL takes a moment. */
const GUARD_DELAY_MS = 250;
const LEAST_MARGIN_MS = 1000;

/**
 * Returns when a running command is killed, in milliseconds after the last renewal of the Lease: by the wrapper, or by
 * its guard if the wrapper cannot. No other candidate can lead at either time. Both are about a second before the Lease
 * expires.
 */
export function killTimes(leaseDurationMs: number): { readonly wrapperMs: number; readonly guardMs: number } {
  const wrapperMs = Math.min(
    leaseDurationMs * SAFE_SHARE - GUARD_DELAY_MS,
    leaseDurationMs - LEAST_MARGIN_MS,
  );
  return { wrapperMs, guardMs: wrapperMs + GUARD_DELAY_MS };
}

/** Jitter of renewals, as in client-go. */
const JITTER = 1.2;

function contradictionsIn(given: ParticipateSettings): Contradictions {
  const { renewDeadlineMs, retryPeriodMs, binaryVersion, emulationVersion } = given;
  const { candidateOnly, identity, listen, socket, leadByConnection } = given;
  const leaseDurationMs = given.leaseDurationSeconds * 1000;
  const { wrapperMs } = killTimes(leaseDurationMs);
  const deadline = `--renew-deadline (${formatDurationMs(renewDeadlineMs)})`;
  const binary = parseVersion(binaryVersion);
  const emulation = parseVersion(emulationVersion);
  const tellers = ['socket', 'leadByConnection'] as const;
  return [
    renewDeadlineMs >= wrapperMs &&
      `${deadline} must be shorter than ${formatDurationMs(wrapperMs)}, as --lease-duration is ${formatDurationMs(leaseDurationMs)}: the command or program must stop before another candidate can lead by a faster clock`,
    retryPeriodMs * JITTER >= renewDeadlineMs &&
      `--retry-period (${formatDurationMs(retryPeriodMs)}) must be shorter than ${deadline}, by at least a sixth: otherwise there is no second attempt`,
    binary !== undefined &&
      emulation !== undefined &&
      emulation.compare(binary) > 0 &&
      `--emulation-version (${emulationVersion}) must not be above --binary-version (${binaryVersion})`,
    ...tellers.map(
      (key) =>
        candidateOnly &&
        Boolean(given[key]) &&
        `--${settings[key].flag} serves the name of the leader, but with --candidate-only the program has its own elector: leave it out`,
    ),
    leadByConnection &&
      !candidateOnly &&
      !listen &&
      socket === undefined &&
      '--lead-by-connection needs --listen or --socket, where the program asks for the lead',
    candidateOnly &&
      identity === undefined &&
      "--candidate-only needs --identity: the identity of the program's elector",
  ];
}
