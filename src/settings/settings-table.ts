import type { ListenAddress } from '../support/address.ts';
import type { Environment } from '../support/host.ts';
import { parseDurationMs } from '../support/text.ts';

/** One setting of a command. Its flag, environment variable, help and error messages are derived from these fields. */
export interface Setting<T, Default = string | undefined> extends ValueType<T> {
  /** The long flag without its dashes. {@link envName} derives the environment variable from this flag. */
  readonly flag: string;
  /** The one-letter flag without its dash, if kubectl has one for the same purpose. */
  readonly short?: string;
  /** Whether the values of a repeated flag are joined with commas. If not, only the last value counts. */
  readonly repeatable?: true;
  /** The default, as a user would write it; undefined if there is no default. */
  readonly default: Default;
  /**
   * Text that the help shows instead of the default, if the default needs an explanation. Without a note, the help
   * shows "none" for an empty or missing default.
   */
  readonly defaultNote?: string;
  /** The text for the help. For a switch that is on by default, it describes the `--no-` form. */
  readonly description: string;
  readonly group: string;
}

export interface ValueType<T> {
  /** The placeholder of the value in the help, such as `<duration>`; absent for a switch, whose flag has no value. */
  readonly placeholder?: string;
  readonly parse: Parser<T>;
}

/**
 * Parses the text that a user gave, or the default. `problem` completes a sentence that begins with this text: `"5x" is
 * not a duration; give e.g. 10s`.
 */
type Parser<T> = (text: string) => { value: T } | { problem: string };

/** Describes the settings of a command. `S` is the type of the resolved settings. */
export interface SettingsTable<S> {
  /** Prefix of the environment variables, without its last underscore: `CLE_DEMO` for `CLE_DEMO_LISTEN`. */
  readonly envPrefix: string;
  /** The settings. The help shows them by group, and in this order within each group. */
  readonly settings: { readonly [K in keyof S]: Setting<S[K]> };
  /** Finds contradictions between settings that are valid by themselves. Also finds missing settings. */
  readonly contradictionsIn: (settings: S) => Contradictions;
}

/** One entry for each check: a sentence that describes the problem, or a falsy value if there is none. */
export type Contradictions = readonly (string | false | undefined)[];

/** The type of the resolved settings of these rows. A setting without a default may be undefined. */
export type SettingsOf<Rows> = {
  readonly [K in keyof Rows]: Rows[K] extends Setting<infer T, infer D>
    ? T | (undefined extends D ? undefined : never)
    : never;
};

export function settingsTable<Rows extends Readonly<Record<string, Setting<unknown>>>>(
  envPrefix: string,
  settings: Rows,
  contradictionsIn: (settings: SettingsOf<Rows>) => Contradictions = () => [],
) {
  return { envPrefix, settings, contradictionsIn };
}

type Row<T, Default> = Omit<Setting<T, Default>, 'group'>;

export function inGroup<Rows extends Record<string, Row<unknown, unknown>>>(group: string, rows: Rows) {
  const grouped = Object.entries(rows).map(([key, row]) => [key, { ...row, group }]);
  return Object.fromEntries(grouped) as { readonly [K in keyof Rows]: Rows[K] & { readonly group: string } };
}

/** Returns a setting whose flag takes a value. Without a default, the setting may be undefined. */
export function option<T, const Default extends string | undefined = undefined>(
  flag: string,
  type: ValueType<T>,
  details: Omit<Row<T, Default>, 'flag' | 'default' | keyof ValueType<T>> & { readonly default?: Default },
): Row<T, Default> {
  return { flag, ...type, ...details, default: details.default as Default };
}

export function toggle(flag: string, description: string, isOn: 'true' | 'false' = 'false') {
  return { flag, default: isOn, description, parse: boolean };
}

/** The values of the flags that a user gave, as text. A setting whose flag is not given is absent. */
export type GivenFlags<S> = { readonly [K in keyof S]?: string };

/** An error with one or more problems of the settings. Each problem names at least one flag. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * Returns the environment variable of a flag. If a Service is named "cle", Kubernetes sets CLE_PORT and
 * CLE_SERVICE_HOST in the pods of its namespace. Therefore, no flag may be `port` or `service-*`, and unknown CLE_
 * variables are ignored.
 */
export function envName(
  { envPrefix }: Pick<SettingsTable<unknown>, 'envPrefix'>,
  { flag }: Pick<Setting<unknown>, 'flag'>,
): string {
  return `${envPrefix}_${flag.toUpperCase().replaceAll('-', '_')}`;
}

export function rowsOf<S>({ settings }: Pick<SettingsTable<S>, 'settings'>) {
  return Object.entries(settings) as [keyof S, Setting<unknown>][];
}

/**
 * Resolves each setting: from its flag, otherwise its environment variable if not empty, otherwise its default.
 * @throws {SettingsError} with all invalid values, or, if every value is valid, with all contradictions.
 */
export function resolveSettings<S>(table: SettingsTable<S>, flags: GivenFlags<S>, env: Environment): S {
  const problems: string[] = [];
  const resolved = rowsOf(table).map(([key, setting]) => {
    const variable = envName(table, setting);
    const given = flags[key] ?? (env[variable] || setting.default);
    const result = given === undefined ? { value: undefined } : setting.parse(given);
    if ('value' in result) return [key, result.value];
    const origin = flags[key] === undefined ? ` (from ${variable})` : '';
    problems.push(`--${setting.flag}: "${given}" ${result.problem}${origin}`);
    return [key, undefined];
  });
  refuse(problems);
  // The object has all keys of S: the table has a row for each key, and `refuse` has thrown if a value is invalid.
  const settings: S = Object.fromEntries(resolved);
  refuse(table.contradictionsIn(settings));
  return settings;
}

/** @throws {SettingsError} with the sentences in `contradictions`, if there are any. */
export function refuse(contradictions: Contradictions): void {
  const found = contradictions.flatMap((sentence) => sentence || []);
  if (found.length > 0) throw new SettingsError(found);
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

// A namespace's name is a DNS label (RFC 1123).
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ADDRESS = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/;

/**
 * Returns a value type that has only one error message, `problem`. `read` converts the given text, or returns undefined
 * if the text is invalid.
 */
export function valueType<T>(
  placeholder: string,
  problem: string,
  read: (given: string) => T | undefined,
): ValueType<T> {
  return {
    placeholder,
    parse(given) {
      const value = read(given);
      return value === undefined ? { problem } : { value };
    },
  };
}

export function text(placeholder: string): ValueType<string> {
  return valueType(placeholder, 'is empty', (given) => given || undefined);
}

const boolean: Parser<boolean> = (given) => {
  if (['true', '1', 'yes', 'on'].includes(given.toLowerCase())) return { value: true };
  if (['false', '0', 'no', 'off'].includes(given.toLowerCase())) return { value: false };
  return { problem: 'is neither true nor false' };
};

export function wholeNumber(min: number, max: number): ValueType<number> {
  return valueType('<number>', `is not a whole number from ${min} to ${max}`, (given) => {
    const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  });
}

/** A duration within inclusive bounds. The parsed value is in milliseconds, or in seconds if `unitMs` is 1000. */
export function duration(min: string, max: string, unitMs: 1 | 1000 = 1): ValueType<number> {
  const minMs = parseDurationMs(min) ?? 0;
  const maxMs = parseDurationMs(max) ?? 0;
  return {
    placeholder: '<duration>',
    parse(given) {
      const durationMs = parseDurationMs(given);
      if (durationMs === undefined) return { problem: 'is not a duration; give e.g. 10s or 1500ms' };
      if (durationMs < minMs) return { problem: `is too short; give at least ${min}` };
      if (durationMs > maxMs) return { problem: `is too long; give at most ${max}` };
      if (durationMs % unitMs !== 0) return { problem: 'is not a whole number of seconds' };
      return { value: durationMs / unitMs };
    },
  };
}

/** Names of namespaces. An empty text means all namespaces. */
export const namespaces: ValueType<readonly string[]> = {
  placeholder: '<name>',
  parse(given) {
    const found = namesIn(given);
    const wrong = found.find((name) => !NAMESPACE.test(name));
    if (wrong !== undefined) return { problem: `names a namespace that cannot exist: ${wrong}` };
    return { value: [...new Set(found)] };
  },
};

export const oneNamespace = valueType(
  '<name>',
  'is not the name of a namespace; only one can be given',
  (given) => (NAMESPACE.test(given) ? given : undefined),
);

/** `host:port`, `[ipv6]:port`, `:port` for every IPv4 address, or `off`, which gives undefined. */
export const listenAddress: ValueType<ListenAddress | undefined> = {
  placeholder: '<host:port>',
  parse(given) {
    const value = addressIn(given);
    if (value !== undefined || given === 'off') return { value };
    return { problem: 'is not host:port; give e.g. 0.0.0.0:8080, [::]:8080 or off' };
  },
};

/**
 * `host:port` or `[ipv6]:port`. The host is required: without a host, the server would listen on every IPv4 address,
 * and other machines could reach it.
 */
export const boundAddress = valueType(
  '<host:port>',
  'is not host:port; give e.g. 127.0.0.1:6443 or [::1]:6443',
  (given) => (given.startsWith(':') ? undefined : addressIn(given)),
);

export const logLevel = oneOf('<level>', ['debug', 'info', 'warn', 'error']);

export function oneOf<const T extends string>(placeholder: string, words: readonly T[]): ValueType<T> {
  return valueType(placeholder, `is none of ${words.join(', ')}`, (given) =>
    words.find((word) => word === given),
  );
}

function addressIn(given: string): ListenAddress | undefined {
  const groups = ADDRESS.exec(given)?.groups;
  const port = Number(groups?.['port']);
  if (groups === undefined || port > 65_535) return undefined;
  return { host: groups['v6'] ?? (groups['host'] || '0.0.0.0'), port };
}

/** Returns the parts of a comma-separated text, without surrounding spaces. Skips empty parts. */
export function namesIn(given: string): readonly string[] {
  return given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
