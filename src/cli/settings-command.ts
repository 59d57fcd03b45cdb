import { Command, InvalidArgumentError } from 'commander';
import { resolveSettings, type SettingsTable } from '../settings/settings-table.ts';
import type { Invocation } from './invocation.ts';
import { givenFlags, settingOptions } from './setting-options.ts';

/** What a command with settings is made of. */
export interface SettingsCommandParts<S> {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** Command lines, and what else is worth knowing after them. */
  readonly examples: string;
  readonly table: SettingsTable<S>;
  readonly invocation: Invocation;
}

/** A command without arguments. */
export function plainCommand<S>(
  parts: SettingsCommandParts<S>,
  run: (settings: S) => Promise<number>,
): Command {
  return commandOf(parts).action(async (values: Record<string, unknown>) => {
    parts.invocation.exitCode = await run(settingsOf(parts, values));
  });
}

/** A command about one Lease, which it takes as its argument. */
export function leaseCommand<S>(
  parts: SettingsCommandParts<S>,
  run: (lease: string, settings: S) => Promise<number>,
): Command {
  return commandOf(parts)
    .argument('<lease>', 'name of the Lease', leaseName)
    .action(async (lease: string, values: Record<string, unknown>) => {
      parts.invocation.exitCode = await run(lease, settingsOf(parts, values));
    });
}

/** A command about one Lease, and a program with its arguments, if any is given after `--`. */
export function leaseAndProgramCommand<S>(
  parts: SettingsCommandParts<S>,
  run: (lease: string, program: readonly string[], settings: S) => Promise<number>,
): Command {
  return commandOf(parts)
    .argument('<lease>', 'name of the Lease', leaseName)
    .argument('[command...]', 'after --: what to run while leading, with its arguments')
    .action(async (lease: string, program: readonly string[], values: Record<string, unknown>) => {
      parts.invocation.exitCode = await run(lease, program, settingsOf(parts, values));
    });
}

// As kubectl writes names with -o name, and takes them.
const RESOURCE = /^leases?(?:\.(?:v1\.)?coordination\.k8s\.io)?\//;

function leaseName(given: string): string {
  const name = given.replace(RESOURCE, '');
  // An empty one is what a script passes on whose variable is not set; the server would take it for any Lease.
  if (name === '') throw new InvalidArgumentError('Give the name of a Lease.');
  if (name.includes('/')) throw new InvalidArgumentError('Give the name alone, and its namespace with -n.');
  return name;
}

function commandOf<S>({ name, summary, description, examples, table }: SettingsCommandParts<S>): Command {
  const command = new Command(name)
    .summary(summary)
    .description(description)
    .allowExcessArguments(false)
    .addHelpText('after', `\nExamples:\n${examples}`);
  for (const option of settingOptions(table)) command.addOption(option);
  return command;
}

function settingsOf<S>({ table, invocation }: SettingsCommandParts<S>, values: Record<string, unknown>): S {
  return resolveSettings(table, givenFlags(table, values), invocation.env);
}
