import type { Environment } from '../support/host.ts';
import type { Parser } from './setting-values.ts';

/** One row of a table that flags, env names, defaults, help and errors all come from. */
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

/** Every setting of one command. */
export interface SettingsTable<S> {
  /** What the environment variables of this command begin with, without the underscore that follows. */
  readonly envPrefix: string;
  /** In the order in which the help lists them. */
  readonly settings: { readonly [K in keyof S]: Setting<S[K]> };
  /** Settings that are each fine but do not go together, in words; none if all do. */
  readonly contradictionsIn?: (settings: S) => readonly string[];
}

/** What was given on the command line, as text; a setting that was not given is absent. */
export type GivenFlags<S> = { readonly [K in keyof S]?: string };

/** Settings that cannot be used: every problem found, each naming the flag or variable it came from. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/**
 * The environment variable that equals a flag. No setting may be called `port` or `service-*`: in a namespace with a
 * Service named "cle", Kubernetes gives pods CLE_PORT and CLE_SERVICE_HOST, which then mean something else. That is also
 * why an unknown CLE_ variable is no error.
 */
export function envName(
  { envPrefix }: Pick<SettingsTable<unknown>, 'envPrefix'>,
  { flag }: Pick<Setting<unknown>, 'flag'>,
): string {
  return `${envPrefix}_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** The rows of a table with their keys. */
export function rowsOf<S>({ settings }: SettingsTable<S>): readonly (readonly [keyof S, Setting<unknown>])[] {
  return Object.entries(settings) as [keyof S, Setting<unknown>][];
}

/**
 * Settles each setting by flag, then environment (an empty variable counts as absent), then default.
 *
 * @throws {SettingsError} with all problems at once.
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
  if (problems.length > 0) throw new SettingsError(problems);
  // The table has a row for every key, and a row that yielded no value of its type has left a problem.
  const settings = resolved as S;
  const contradictions = table.contradictionsIn?.(settings) ?? [];
  if (contradictions.length > 0) throw new SettingsError(contradictions);
  return settings;
}
