import type { ListenAddress } from '../support/address.ts';
import type { Environment } from '../support/host.ts';
import { parseDurationMs } from '../support/text.ts';

/** A setting. Its flag, environment variable, default, help and errors are derived from this. */
export interface Setting<T> {
  /** Long flag without dashes. The environment variable is derived from it, see {@link envName}. */
  readonly flag: string;
  /** One-letter flag without its dash, if kubectl has one. */
  readonly short?: string;
  /** The placeholder of the value in the help, such as `<duration>`; absent for a switch. */
  readonly placeholder?: string;
  /** Whether a user may give the flag several times. */
  readonly repeatable?: true;
  /** The default, as a user would write it; undefined if there is no default. */
  readonly default: string | undefined;
  /**
   * Text for the help instead of the default, for a default that needs an explanation. Without a note, the help shows
   * "none" for an empty or missing default.
   */
  readonly defaultNote?: string;
  /** The text for the help. For a switch that is on by default, it describes the `--no-` form. */
  readonly description: string;
  readonly group: string;
  readonly parse: Parser<T>;
}

export interface SettingsTable<S> {
  /** Prefix of the environment variables, without the underscore. */
  readonly envPrefix: string;
  /** The settings, in the order of the help. */
  readonly settings: { readonly [K in keyof S]: Setting<S[K]> };
  /** Returns the contradictions between valid settings, in words. */
  readonly contradictionsIn?: (settings: S) => Contradictions;
}

/** One entry for each check: a sentence that describes the contradiction, or false if there is none. */
export type Contradictions = readonly (string | false)[];

/** The values of these rows. A row without a default may be unset. */
export type SettingsOf<Rows> = {
  readonly [K in keyof Rows]: Rows[K] extends { readonly parse: Parser<infer T>; readonly default: infer D }
    ? T | (undefined extends D ? undefined : never)
    : never;
};

type Row<T = unknown, Default = string | undefined> = Omit<Setting<T>, 'group' | 'default'> & {
  readonly default: Default;
};

export function inGroup<Rows extends Readonly<Record<string, Row>>>(group: string, rows: Rows) {
  const grouped = Object.entries(rows).map(([key, row]) => [key, { ...row, group }]);
  return Object.fromEntries(grouped) as { readonly [K in keyof Rows]: Rows[K] & { readonly group: string } };
}

/** The values that an option takes. */
export interface ValueType<T> {
  readonly placeholder: string;
  readonly parse: Parser<T>;
}

/** Returns an option with a value. Without a default, it may be unset. */
export function option<T, const Default extends string | undefined = undefined>(
  flag: string,
  type: ValueType<T>,
  description: string,
  details: Pick<Row, 'short' | 'repeatable' | 'defaultNote'> & { readonly default?: Default } = {},
): Row<T, Default> {
  return { ...details, flag, ...type, description, default: details.default as Default };
}

export function toggle(flag: string, description: string, isOn: 'true' | 'false' = 'false') {
  return { flag, default: isOn, description, parse: boolean };
}

/** The given flags, as text. A setting without a flag is absent. */
export type GivenFlags<S> = { readonly [K in keyof S]?: string };

/** An error with all problems of the settings. Each problem names its flag or variable. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * Returns the environment variable of a flag. No setting may be called `port` or `service-*`: for a Service named "cle",
 * Kubernetes sets CLE_PORT and CLE_SERVICE_HOST in the pods of its namespace. Therefore unknown CLE_ variables are also
 * ignored.
 */
export function envName(
  { envPrefix }: Pick<SettingsTable<unknown>, 'envPrefix'>,
  { flag }: Pick<Setting<unknown>, 'flag'>,
): string {
  return `${envPrefix}_${flag.toUpperCase().replaceAll('-', '_')}`;
}

export function rowsOf<S>({ settings }: SettingsTable<S>): readonly (readonly [keyof S, Setting<unknown>])[] {
  return Object.entries(settings) as [keyof S, Setting<unknown>][];
}

/**
 * Resolves each setting: from its flag, otherwise its variable, otherwise its default. Throws a {@link SettingsError}
 * with all problems.
 */
export function resolveSettings<S>(table: SettingsTable<S>, flags: GivenFlags<S>, env: Environment): S {
  const problems: string[] = [];

  function resolve(key: keyof S, setting: Setting<unknown>): unknown {
    const fromEnv = env[envName(table, setting)] || undefined;
    const given = flags[key] ?? fromEnv ?? setting.default;
    if (given === undefined) return undefined;
    const result = setting.parse(given);
    if ('value' in result) return result.value;
    const origin = flags[key] === undefined ? ` (from ${envName(table, setting)})` : '';
    problems.push(`--${setting.flag}: "${given}" ${result.problem}${origin}`);
    return undefined;
  }

  const resolved = Object.fromEntries(rowsOf(table).map(([key, setting]) => [key, resolve(key, setting)]));
  refuse(problems);
  // The table has a row for each key. An invalid row has thrown above.
  const settings = resolved as S;
  refuse(table.contradictionsIn?.(settings) ?? []);
  return settings;
}

/** @throws {SettingsError} if there is a contradiction. */
export function refuse(contradictions: Contradictions): void {
  const found = contradictions.filter((sentence) => sentence !== false);
  if (found.length > 0) throw new SettingsError(found);
}

/** The lowest level that is logged. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Parses the text of a setting. `problem` completes the sentence `"<text>" ...` and contains the expected format. */
export type Parser<T> = (text: string) => { value: T } | { problem: string };

// A namespace's name is a DNS label (RFC 1123).
const NAMESPACE = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const ADDRESS = /^(?:\[(?<v6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]\s]*)):(?<port>\d{1,5})$/;

export const nonEmpty: Parser<string> = (given) =>
  given === '' ? { problem: 'is empty' } : { value: given };

/** Any text, but not an empty one. */
export function text(placeholder: string): ValueType<string> {
  return { placeholder, parse: nonEmpty };
}

const boolean: Parser<boolean> = (given) => {
  if (['true', '1', 'yes', 'on'].includes(given.toLowerCase())) return { value: true };
  if (['false', '0', 'no', 'off'].includes(given.toLowerCase())) return { value: false };
  return { problem: 'is neither true nor false' };
};

/** A decimal integer within inclusive bounds. */
export function wholeNumber({ min, max }: { min: number; max: number }): ValueType<number> {
  return {
    placeholder: '<number>',
    parse(given) {
      const number = /^\d+$/.test(given) ? Number(given) : Number.NaN;
      if (number >= min && number <= max) return { value: number };
      return { problem: `is not a whole number from ${min} to ${max}` };
    },
  };
}

/** The shortest and the longest allowed duration, as text. */
interface DurationBounds {
  readonly min: string;
  readonly max: string;
}

/** A duration within inclusive bounds, in milliseconds. */
export function duration({ min, max }: DurationBounds): ValueType<number> {
  const minMs = parseDurationMs(min) ?? 0;
  const maxMs = parseDurationMs(max) ?? 0;
  return {
    placeholder: '<duration>',
    parse(given) {
      const durationMs = parseDurationMs(given);
      if (durationMs === undefined) return { problem: 'is not a duration; give e.g. 10s or 1500ms' };
      if (durationMs < minMs) return { problem: `is too short; give at least ${min}` };
      if (durationMs > maxMs) return { problem: `is too long; give at most ${max}` };
      return { value: durationMs };
    },
  };
}

/** A duration of whole seconds within inclusive bounds, in seconds. */
export function wholeSeconds(bounds: DurationBounds): ValueType<number> {
  const { placeholder, parse } = duration(bounds);
  return {
    placeholder,
    parse(given) {
      const result = parse(given);
      if ('problem' in result) return result;
      if (result.value % 1000 !== 0) return { problem: 'is not a whole number of seconds' };
      return { value: result.value / 1000 };
    },
  };
}

/** Names, separated by commas. */
export function names(placeholder: string) {
  return { placeholder, parse: (given: string) => ({ value: namesIn(given) }) };
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

export const oneNamespace: ValueType<string> = {
  placeholder: '<name>',
  parse: (given) =>
    NAMESPACE.test(given)
      ? { value: given }
      : { problem: 'is not the name of a namespace; only one can be given' },
};

/** `host:port`, `[ipv6]:port`, `:port` for every IPv4 address, or `off`. */
export const listenAddress: ValueType<ListenAddress | undefined> = {
  placeholder: '<host:port>',
  parse(given) {
    if (given === 'off') return { value: undefined };
    const groups = ADDRESS.exec(given)?.groups;
    const port = Number(groups?.['port']);
    if (groups === undefined || port > 65_535) {
      return { problem: 'is not host:port; give e.g. 0.0.0.0:8080, [::]:8080 or off' };
    }
    return { value: { host: groups['v6'] ?? (groups['host'] || '0.0.0.0'), port } };
  },
};

/**
 * `host:port` or `[ipv6]:port`. The host is required: otherwise a missing host would expose the server to the network.
 */
export const boundAddress: ValueType<ListenAddress> = {
  placeholder: '<host:port>',
  parse(given) {
    const result = given.startsWith(':') ? undefined : listenAddress.parse(given);
    if (result && 'value' in result && result.value) return { value: result.value };
    return { problem: 'is not host:port; give e.g. 127.0.0.1:6443 or [::1]:6443' };
  },
};

export const logLevel = oneOf('<level>', ['debug', 'info', 'warn', 'error']);

/** Some of `words`, separated by commas, in the order of `words`; or `none`. */
export function noneOrSome<T extends string>(
  placeholder: string,
  words: readonly T[],
): ValueType<readonly T[]> {
  return {
    placeholder,
    parse(given) {
      if (given === 'none') return { value: [] };
      const named = given.split(',').map((word) => word.trim());
      const wrong = named.find((name) => !words.some((word) => word === name));
      if (wrong === undefined) return { value: words.filter((word) => named.includes(word)) };
      return { problem: `names ${wrong || 'nothing'}; give some of ${words.join(',')}, or none` };
    },
  };
}

export function oneOf<const T extends string>(placeholder: string, words: readonly T[]): ValueType<T> {
  return {
    placeholder,
    parse(given) {
      const found = words.find((word) => word === given);
      return found === undefined ? { problem: `is none of ${words.join(', ')}` } : { value: found };
    },
  };
}

/** Returns the parts of a text with commas. */
export function namesIn(given: string): readonly string[] {
  return given
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
