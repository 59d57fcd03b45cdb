import type { Command } from 'commander';
import { type DemoSettings, demoSettings } from '../settings/demo-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

const EXAMPLES = `  $ npm start                   with nothing configured this is the demo
  $ npm start -- --once         the scripted tour, which ends by itself

It touches no cluster: it has a server of its own, on a free port of this machine, and keeps nothing. It tells how to
point kubectl at that server.`;

/** The `demo` command: reads and validates its settings, then hands them to `demo`. */
export function demoCommand(
  invocation: Invocation,
  demo: (settings: DemoSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'demo',
      summary: 'see elections happen: a server, the coordinator and three sample candidates',
      description:
        'Starts a coordination API server, the coordinator and three sample candidates on one Lease, and shows what ' +
        'happens: on the status page and live in a terminal, with keys to kill the leader and the like, else line by line.',
      examples: EXAMPLES,
      table: demoSettings,
      invocation,
    },
    demo,
  );
}
