import type { Command } from 'commander';
import { type RunSettings, runSettings } from '../settings/run-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

const EXAMPLES = `  $ npm start -- run --kubeconfig ~/.kube/config --dry-run
  $ npm start -- run --namespace kube-system --namespace default
  $ CLE_LEASE_DURATION=15s npm start -- run --no-take-over

A flag overrules its environment variable, and both overrule the default. Durations: 500ms, 5s, 30m, 1h30m.`;

/** The `run` command: reads and validates its settings, then hands them to `run`. */
export function runCommand(invocation: Invocation, run: (settings: RunSettings) => Promise<number>): Command {
  return plainCommand(
    {
      name: 'run',
      summary: 'coordinate leader elections on a cluster',
      description:
        'Watches LeaseCandidates, elects the best one for each Lease and writes the result, until it is told to stop.',
      examples: EXAMPLES,
      table: runSettings,
      invocation,
    },
    run,
  );
}
