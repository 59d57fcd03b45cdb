import type { Command } from 'commander';
import { type ExplainSettings, explainSettings } from '../settings/inspection-settings.ts';
import type { Invocation } from './invocation.ts';
import { leaseCommand } from './settings-command.ts';

/** The `explain` command: reads and validates its settings, then hands them to `run`. */
export function explainCommand(
  invocation: Invocation,
  run: (lease: string, settings: ExplainSettings) => Promise<number>,
): Command {
  return leaseCommand(
    {
      name: 'explain',
      summary: 'show why a Lease has this leader, and what would come next',
      description:
        "Judges one Lease by the coordinator's own rules: its candidates in order and why each lost, the strategy and " +
        'who brought it up, what would happen if the leader died now, and what stands in the way of an election.',
      examples: '  $ kubectl cle explain kube-scheduler -n kube-system',
      table: explainSettings,
      invocation,
    },
    run,
  );
}
