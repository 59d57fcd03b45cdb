import { Command } from 'commander';
import { type DemoSettings, demoSettings } from '../settings/demo-settings.ts';
import { resolveSettings } from '../settings/settings-table.ts';
import type { Invocation } from './invocation.ts';
import { givenFlags, settingOptions } from './setting-options.ts';

const EXAMPLES = `
Examples:
  $ npm start                   with nothing configured this is the demo
  $ npm start -- --once         the scripted tour, which ends by itself

It touches no cluster: it has a server of its own, on a free port of this machine, and keeps nothing. It tells how to
point kubectl at that server.`;

/** The `demo` command: reads and validates its settings, then hands them to `demo`. */
export function demoCommand(
  invocation: Invocation,
  demo: (settings: DemoSettings) => Promise<number>,
): Command {
  const command = new Command('demo')
    .summary('see elections happen: a server, the coordinator and three sample candidates')
    .description(
      'Starts a coordination API server, the coordinator and three sample candidates on one Lease, and shows what ' +
        'happens: on the status page and live in a terminal, with keys to kill the leader and the like, else line by line.',
    )
    .allowExcessArguments(false)
    .addHelpText('after', EXAMPLES)
    .action(async (values: Record<string, unknown>) => {
      const settings = resolveSettings(demoSettings, givenFlags(demoSettings, values), invocation.env);
      invocation.exitCode = await demo(settings);
    });
  for (const option of settingOptions(demoSettings)) command.addOption(option);
  return command;
}
