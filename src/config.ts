import { formatDurationMs } from './duration.ts';
import {
  boolean,
  duration,
  type ListenAddress,
  type LogLevel,
  listenAddress,
  logLevel,
  namespaces,
  type Parser,
  text,
  wholeNumber,
  wholeSeconds,
} from './setting-values.ts';

export type { ListenAddress, LogLevel } from './setting-values.ts';

/** Everything the `run` command can be told, validated. */
export interface RunSettings {
  /** Path of a kubeconfig; undefined: the usual places. */
  readonly kubeconfig: string | undefined;
  /** Context within the kubeconfig; undefined: its current one. */
  readonly context: string | undefined;
  /** Namespaces to coordinate; empty: all. */
  readonly namespaces: readonly string[];
  /** Decide and log, write nothing. */
  readonly dryRun: boolean;
  /** Take the coordinator's lock from the controller built into kube-apiserver, rather than wait for it. */
  readonly takeOver: boolean;
  /** Leases worked on at the same time. */
  readonly workers: number;
  /** Undefined: no HTTP server. */
  readonly listen: ListenAddress | undefined;
  readonly logLevel: LogLevel;
  /** How long an election waits for answers to its pings. */
  readonly electionDurationMs: number;
  /** The leaseDurationSeconds written into a Lease when it is given to a new holder. */
  readonly leaseDurationSeconds: number;
  /** How long a candidate is valid after it was last seen to renew. */
  readonly candidateValidityMs: number;
  /** How long after its last renewal a candidate that answers no ping is deleted. */
  readonly candidateGcAfterMs: number;
}

/** One row of the table that flags, env names, defaults, help and errors all come from. */
export interface Setting<T> {
  /** Long flag without its dashes; the env name follows from it, see {@link envName}. */
  readonly flag: string;
  /** One-letter flag without its dash, where kubectl has made one customary. */
  readonly short?: string;
  /** What stands for the value in the help, as `<duration>`; absent for a switch that takes none. */
  readonly placeholder?: string;
  /** May be given several times. */
  readonly repeatable?: true;
  /** Written as a user would; undefined: not set unless given. */
  readonly default: string | undefined;
  /** Says what the default does where its text alone would not. */
  readonly defaultNote?: string;
  /** For a switch that is on by default this describes its `--no-` form, the only one worth giving. */
  readonly description: string;
  readonly group: string;
  readonly parse: Parser<T>;
}

/** Every setting of `run`, in the order in which the help lists them. */
export const runSettings: { readonly [K in keyof RunSettings]: Setting<RunSettings[K]> } = {
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
  workers: {
    flag: 'workers',
    placeholder: '<number>',
    default: '32',
    description: 'Leases worked on at the same time',
    group: 'Coordination:',
    parse: wholeNumber({ min: 1, max: 256 }),
  },
  electionDurationMs: {
    flag: 'election-duration',
    placeholder: '<duration>',
    default: '5s',
    description: 'how long an election waits for candidates to answer',
    group: 'Coordination:',
    parse: duration({ min: '100ms' }),
  },
  leaseDurationSeconds: {
    flag: 'lease-duration',
    placeholder: '<duration>',
    default: '10s',
    description: 'how long a Lease given to a new leader lasts until its first renewal, in whole seconds',
    group: 'Coordination:',
    // A candidate looks at its Lease about every 2 s: a shorter one is over before its leader knows of it.
    parse: wholeSeconds({ min: '3s' }),
  },
  candidateValidityMs: {
    flag: 'candidate-validity',
    placeholder: '<duration>',
    default: '30m',
    description: 'how long a candidate counts after it last renewed',
    group: 'Coordination:',
    parse: duration({ min: '1s' }),
  },
  candidateGcAfterMs: {
    flag: 'candidate-gc-after',
    placeholder: '<duration>',
    default: '2h',
    description: 'delete a candidate that has not renewed for this long and answers no ping',
    group: 'Coordination:',
    parse: duration({ min: '1s' }),
  },
  listen: {
    flag: 'listen',
    placeholder: '<host:port>',
    default: '0.0.0.0:8080',
    description: 'serve /metrics, /livez and /readyz there; "off" serves nothing',
    group: 'Observation:',
    parse: listenAddress,
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

/**
 * The environment variable that equals a flag. No setting may be called `port` or `service-*`: in a namespace with a
 * Service named "cle", Kubernetes gives pods CLE_PORT and CLE_SERVICE_HOST, which then mean something else. That is also
 * why an unknown CLE_ variable is no error.
 */
export function envName(setting: Pick<Setting<unknown>, 'flag'>): string {
  return `CLE_${setting.flag.toUpperCase().replaceAll('-', '_')}`;
}

/** Settings that cannot be used: every problem found, each naming the flag or variable it came from. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** What was given on the command line, as text; a setting that was not given is absent. */
export type GivenFlags = { readonly [K in keyof RunSettings]?: string };

/**
 * Settles each setting by flag, then environment (an empty variable counts as absent), then default.
 *
 * @throws {SettingsError} with all problems at once.
 */
export function resolveRunSettings(
  flags: GivenFlags,
  env: Readonly<Record<string, string | undefined>>,
): RunSettings {
  const problems: string[] = [];

  function resolve<K extends keyof RunSettings>(key: K): RunSettings[K] | undefined {
    const setting = runSettings[key];
    const fromEnv = env[envName(setting)] || undefined;
    const given = flags[key] ?? fromEnv ?? setting.default;
    if (given === undefined) return undefined;
    const result = setting.parse(given);
    if ('value' in result) return result.value;
    const origin = flags[key] === undefined ? ` (from ${envName(setting)})` : '';
    problems.push(`--${setting.flag}: "${given}" ${result.problem}${origin}`);
    return undefined;
  }

  const resolved = Object.fromEntries(
    (Object.keys(runSettings) as (keyof RunSettings)[]).map((key) => [key, resolve(key)]),
  );
  if (problems.length > 0) throw new SettingsError(problems);
  // The table has a row for every key, and a row that yielded no value of its type has left a problem.
  const settings = resolved as unknown as RunSettings;
  const contradictions = contradictionsIn(settings);
  if (contradictions.length > 0) throw new SettingsError(contradictions);
  return settings;
}

function contradictionsIn(settings: RunSettings): string[] {
  const election = named('electionDurationMs', settings.electionDurationMs);
  const lease = named('leaseDurationSeconds', settings.leaseDurationSeconds * 1000);
  const validity = named('candidateValidityMs', settings.candidateValidityMs);
  const collection = named('candidateGcAfterMs', settings.candidateGcAfterMs);
  const contradictions: string[] = [];
  if (settings.electionDurationMs >= settings.leaseDurationSeconds * 1000) {
    contradictions.push(
      `${election} must be shorter than ${lease}: an election that outlasts a Lease leaves it without a leader`,
    );
  }
  if (settings.candidateValidityMs < 2 * settings.electionDurationMs) {
    contradictions.push(
      `${validity} must be at least twice ${election}: candidates are pinged at half their validity and need time to answer`,
    );
  }
  if (settings.candidateGcAfterMs <= settings.candidateValidityMs) {
    contradictions.push(
      `${collection} must be longer than ${validity}: a candidate that still counts must not be deleted`,
    );
  }
  return contradictions;
}

function named(key: keyof RunSettings, durationMs: number): string {
  return `--${runSettings[key].flag} (${formatDurationMs(durationMs)})`;
}
