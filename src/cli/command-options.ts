import { Command, InvalidArgumentError, Option } from 'commander';
import {
  envName,
  type GivenFlags,
  refuse,
  resolveSettings,
  rowsOf,
  type Setting,
  type SettingsTable,
} from '../settings/settings-table.ts';
import type { Environment } from '../support/host.ts';
import type { CommandEntry, CommandInput } from './commands.ts';

/** Returns the command-line parser of a command. The parser checks the input, and passes valid input to `run`. */
export function commandFor(
  entry: CommandEntry,
  env: Environment,
  run: (input: CommandInput<unknown>) => Promise<void>,
): Command {
  const { name, summary, description, examples, takes, settings } = entry;
  const command = new Command(name)
    .summary(summary)
    .description(description)
    .allowExcessArguments(false)
    .addHelpText('after', `\nExamples:\n${examples}`);
  for (const [, setting] of rowsOf(settings)) {
    for (const option of optionsFor(setting, envName(settings, setting))) command.addOption(option);
  }
  if (takes !== undefined) command.argument('<lease>', 'name of the Lease', leaseName);
  if (takes === 'lease and program')
    command.argument('[command...]', 'after --: what to run while leading, with its arguments');
  return command.action(async () => {
    const [lease = '', program = []] = command.processedArgs as [string?, (readonly string[])?];
    const given = givenFlags(settings, command.opts());
    const input = { lease, program, settings: resolveSettings(settings, given, env) };
    refuse(entry.contradictions?.(input) ?? []);
    await run(input);
  });
}

/**
 * Returns the options for a setting. A switch has two options, `--x` and `--no-x`, so that both values can override
 * the environment variable. The help shows only the option that differs from the default.
 */
function optionsFor(setting: Setting<unknown>, variable: string): readonly Option[] {
  const { flag, short, placeholder, group, description } = setting;
  const flags = short === undefined ? `--${flag}` : `-${short}, --${flag}`;
  if (placeholder === undefined) {
    const isOnByDefault = setting.default === 'true';
    const help = `${description} (${variable}${isOnByDefault ? '=false' : ''})`;
    const on = new Option(flags, help).helpGroup(group).hideHelp(isOnByDefault);
    return [on, new Option(`--no-${flag}`, help).helpGroup(group).hideHelp(!isOnByDefault)];
  }
  const fallback = setting.defaultNote ?? (setting.default || 'none');
  const help = `${description} (${variable}; default: ${fallback})`;
  const option = new Option(`${flags} ${placeholder}`, help).helpGroup(group);
  if (setting.repeatable) {
    option.argParser((value: string, previous: string | undefined) =>
      previous === undefined ? value : `${previous},${value}`,
    );
  }
  return [option];
}

// The prefix of a name such as `lease.coordination.k8s.io/web`, which kubectl prints with -o name.
const RESOURCE = /^leases?(?:\.(?:v1\.)?coordination\.k8s\.io)?\//;

function leaseName(given: string): string {
  const name = given.replace(RESOURCE, '');
  // A script with an unset variable passes an empty name. With an empty name, a request would return all Leases.
  if (name === '') throw new InvalidArgumentError('Give the name of a Lease.');
  if (name.includes('/')) throw new InvalidArgumentError('Give the name alone, and its namespace with -n.');
  return name;
}

/** Returns the values of the flags on the command line, as text. `resolveSettings` parses this text later. */
function givenFlags<S>(table: SettingsTable<S>, values: Readonly<Record<string, unknown>>): GivenFlags<S> {
  const given: { -readonly [K in keyof S]?: string } = {};
  for (const [key, setting] of rowsOf(table)) {
    const value = values[new Option(`--${setting.flag}`).attributeName()];
    if (value !== undefined) given[key] = String(value);
  }
  return given;
}
