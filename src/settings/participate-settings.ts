import { parseInt32 } from '../coordination/candidate-priority.ts';
import { parseVersion } from '../election/strategies.ts';
import { SAFE_SHARE } from '../support/clock.ts';
import { formatDurationMs } from '../support/text.ts';
import { MAX_SOCKET_PATH_BYTES } from '../support/unix-socket.ts';
import { inspectionRows } from './inspection-settings.ts';
import { runSettings } from './run-settings.ts';
import {
  duration,
  inGroup,
  listenAddress,
  type Parser,
  type SettingsOf,
  type SettingsTable,
  text,
  toggle,
  wholeSeconds,
} from './settings-table.ts';

/** The labels, or the path of a file that contains them. */
export type CandidateLabels =
  | { readonly given: Readonly<Record<string, string>> }
  | { readonly file: string };

// The Kubernetes syntax of labels. The key may have a domain as prefix. The value may be empty.
const KEY = /^(?:[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const VALUE = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;

/** `key=value` pairs separated by commas, or `@` and the path of a file. */
const candidateLabels: Parser<CandidateLabels> = (given) => {
  if (given.startsWith('@'))
    return given === '@' ? { problem: 'names no file after the @' } : { value: { file: given.slice(1) } };
  const labels: Record<string, string> = {};
  for (const pair of given.split(',').filter((each) => each.trim() !== '')) {
    const label = labelIn(pair);
    if (label === undefined) return { problem: `has ${pair}, which is no label; give key=value` };
    labels[label.key] = label.value;
  }
  return { value: { given: labels } };
};

/**
 * Parses a file of the downward API, with `key="value"` on each line. Throws an error that contains the first invalid
 * line.
 */
export function labelsInFile(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const line of text.split('\n').filter((each) => each.trim() !== '')) {
    const label = labelIn(line.replace(/="(.*)"$/, '=$1'));
    if (label === undefined) throw new Error(`no label, which is key="value": ${line}`);
    labels[label.key] = label.value;
  }
  return labels;
}

const version: Parser<string> = (given) =>
  parseVersion(given) ? { value: given } : { problem: 'is not a semantic version; give e.g. 1.4.2' };

const int32: Parser<number> = (given) => {
  const number = parseInt32(given);
  return number === undefined ? { problem: 'is not a whole number of 32 bits' } : { value: number };
};

const httpUrl: Parser<URL> = (given) => {
  const url = URL.canParse(given) ? new URL(given) : undefined;
  if (url?.protocol === 'http:') return { value: url };
  return { problem: 'is not an http:// URL; give e.g. http://127.0.0.1:8080/readyz' };
};

const socketPath: Parser<string> = (given) => {
  if (Buffer.byteLength(given) <= MAX_SOCKET_PATH_BYTES) return text(given);
  return { problem: `is longer than ${MAX_SOCKET_PATH_BYTES} bytes, the limit of Unix sockets` };
};

const settings = {
  kubeconfig: { ...inspectionRows.kubeconfig, description: 'kubeconfig of the cluster of the Lease' },
  context: inspectionRows.context,
  namespace: { ...inspectionRows.namespace, description: 'namespace of the Lease' },
  ...inGroup('Candidate:', {
    identity: {
      flag: 'identity',
      placeholder: '<name>',
      default: undefined,
      defaultNote: "$POD_NAME and the first 8 characters of $POD_UID, else the host's name and a random part",
      description: 'name of the candidate and of the holder; must be unique among running programs',
      parse: text,
    },
    binaryVersion: {
      flag: 'binary-version',
      placeholder: '<version>',
      // Lower than every later release. kube-apiserver refuses 0.0.0.
      default: '0.0.1',
      description: "the program's version",
      parse: version,
    },
    emulationVersion: {
      flag: 'emulation-version',
      placeholder: '<version>',
      default: undefined,
      defaultNote: "the program's version",
      description: 'the version that the program emulates',
      parse: version,
    },
    strategy: {
      flag: 'strategy',
      placeholder: '<name>',
      default: undefined,
      defaultNote: 'OldestEmulationVersion',
      description: 'the strategy that chooses the leader',
      parse: text,
    },
    priority: {
      flag: 'priority',
      placeholder: '<number>',
      default: '0',
      description: 'counts before versions; a leader gives way to a candidate with a higher priority',
      parse: int32,
    },
    labels: {
      flag: 'labels',
      placeholder: '<key=value>',
      repeatable: true,
      default: '',
      description:
        "the candidate's labels, separated by commas, or @ and the path of a file of the pod's labels, as the downward API writes it",
      parse: candidateLabels,
    },
    healthListen: {
      flag: 'health-listen',
      placeholder: '<host:port>',
      default: 'off',
      description: 'serve /readyz there, which is 200 once the candidate is published, /livez and /metrics',
      parse: listenAddress,
    },
  }),
  ...inGroup('Time:', {
    leaseDurationSeconds: {
      flag: 'lease-duration',
      placeholder: '<duration>',
      default: '15s',
      description: 'how long the Lease is valid after its last renewal, in whole seconds',
      parse: wholeSeconds({ min: '3s', max: '1h' }),
    },
    renewDeadlineMs: {
      flag: 'renew-deadline',
      placeholder: '<duration>',
      default: '10s',
      description:
        'how long after its last renewal the leader starts to stop; the rest of the lease duration is for stopping',
      parse: duration({ min: '1s', max: '1h' }),
    },
    retryPeriodMs: {
      flag: 'retry-period',
      placeholder: '<duration>',
      default: '2s',
      description: 'how often the leader renews',
      parse: duration({ min: '100ms', max: '10m' }),
    },
  }),
  ...inGroup('Sidecar, without a command:', {
    listen: {
      flag: 'listen',
      placeholder: '<host:port>',
      default: '127.0.0.1:4040',
      description: 'serve the name of the leader there; "off" serves nothing',
      parse: listenAddress,
    },
    socket: {
      flag: 'socket',
      placeholder: '<path>',
      default: undefined,
      description: 'also serve the name of the leader on a Unix socket',
      parse: socketPath,
    },
    leadByConnection: toggle(
      'lead-by-connection',
      'be a candidate while a program keeps a GET /lead open, and release the Lease after it has closed the connection',
    ),
    file: {
      flag: 'file',
      placeholder: '<path>',
      default: undefined,
      description: 'keep a file with the leader and the time until which this is valid',
      parse: text,
    },
    readyUrl: {
      flag: 'ready-url',
      placeholder: '<url>',
      default: undefined,
      description: 'yield and do not be a candidate while this URL does not answer 2xx',
      parse: httpUrl,
    },
    candidateOnly: toggle(
      'candidate-only',
      'only publish the candidate, for a program that has its own coordinated elector',
    ),
  }),
  ...inGroup('Command:', {
    restart: toggle(
      'restart',
      'after the command has ended, release the Lease and become a candidate again, instead of exiting',
    ),
  }),
  logLevel: runSettings.settings.logLevel,
};

export type ParticipateSettings = SettingsOf<typeof settings>;

export const participateSettings: SettingsTable<ParticipateSettings> = {
  envPrefix: 'CLE_PARTICIPATE',
  settings,
  contradictionsIn: (given) => [...contradictoryTimes(given), ...contradictoryCandidate(given)],
};

/** Returns, in words, the settings that do not fit to a command or to the absence of a command. */
export function contradictionsWith(
  command: readonly string[],
  given: ParticipateSettings,
): readonly string[] {
  const { file, readyUrl, candidateOnly, restart, socket, leadByConnection } = given;
  if (command.length === 0) return restart ? ['--restart is about a command: give one after --'] : [];
  const ofSidecars = [
    ...(socket === undefined ? [] : ['--socket']),
    ...(leadByConnection ? ['--lead-by-connection'] : []),
    ...(file === undefined ? [] : ['--file']),
    ...(readyUrl === undefined ? [] : ['--ready-url']),
    ...(candidateOnly ? ['--candidate-only'] : []),
  ];
  return ofSidecars.map(
    (flag) => `${flag} is for a program that runs by itself: leave out ${flag}, or the command`,
  );
}

/** Delay of the guard after the wrapper, in milliseconds: the wrapper's SIGKILL takes a moment. */
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

function labelIn(pair: string): { key: string; value: string } | undefined {
  const sign = pair.indexOf('=');
  const key = pair.slice(0, sign).trim();
  const value = pair.slice(sign + 1).trim();
  return sign > 0 && KEY.test(key) && VALUE.test(value) ? { key, value } : undefined;
}

/** Jitter of renewals, as in client-go. */
const JITTER = 1.2;

function contradictoryTimes(given: ParticipateSettings): readonly string[] {
  const { leaseDurationSeconds, renewDeadlineMs, retryPeriodMs } = given;
  const contradictions: string[] = [];
  const leaseDurationMs = leaseDurationSeconds * 1000;
  const { wrapperMs } = killTimes(leaseDurationMs);
  if (renewDeadlineMs >= wrapperMs) {
    contradictions.push(
      `--renew-deadline (${formatDurationMs(renewDeadlineMs)}) must be shorter than ${formatDurationMs(wrapperMs)}, as --lease-duration is ${formatDurationMs(leaseDurationMs)}: what it leads has to end in between, before another can lead by a faster clock`,
    );
  }
  if (retryPeriodMs * JITTER >= renewDeadlineMs) {
    contradictions.push(
      `--retry-period (${formatDurationMs(retryPeriodMs)}) must be shorter than --renew-deadline (${formatDurationMs(renewDeadlineMs)}), by a sixth at least: else there is no second attempt`,
    );
  }
  return contradictions;
}

function contradictoryCandidate(given: ParticipateSettings): readonly string[] {
  const { binaryVersion, emulationVersion, candidateOnly, identity } = given;
  const { file, listen, socket, leadByConnection } = given;
  const binary = parseVersion(binaryVersion);
  const emulation = parseVersion(emulationVersion);
  const tellers = [
    { flag: '--file', isGiven: file !== undefined },
    { flag: '--socket', isGiven: socket !== undefined },
    { flag: '--lead-by-connection', isGiven: leadByConnection },
  ];
  return [
    ...(binary && emulation && emulation.compare(binary) > 0
      ? [`--emulation-version (${emulationVersion}) must not be above --binary-version (${binaryVersion})`]
      : []),
    ...tellers
      .filter(({ isGiven }) => candidateOnly && isGiven)
      .map(
        ({ flag }) =>
          `${flag} tells who leads, which with --candidate-only the program itself knows: leave it out`,
      ),
    ...(leadByConnection && file !== undefined
      ? [
          '--file tells until when the program leads, which with --lead-by-connection a connection does: leave it out',
        ]
      : []),
    ...(leadByConnection && !candidateOnly && !listen && socket === undefined
      ? ['--lead-by-connection needs --listen or --socket: there, the program asks for the lead']
      : []),
    ...(candidateOnly && identity === undefined
      ? ["--candidate-only needs --identity: the same as the program's elector has"]
      : []),
  ];
}
