import type { Command } from 'commander';
import { type PlanSettings, planSettings } from '../settings/inspection-settings.ts';
import type { Invocation } from './invocation.ts';
import { leaseCommand } from './settings-command.ts';

/** The `plan` command: reads and validates its settings, then hands them to `run`. */
export function planCommand(
  invocation: Invocation,
  run: (lease: string, settings: PlanSettings) => Promise<number>,
): Command {
  return leaseCommand(
    {
      name: 'plan',
      summary: 'show what an upgrade, a downgrade or a removal would do',
      description:
        'Plays the changes through in virtual time, by the rules of the coordinator, and changes nothing: first each ' +
        'candidate that appears, then each that is given a priority, then each that is stopped, one after the other once ' +
        'all has settled. --rollout compares strategies by how often the leader changes in a rolling update.',
      examples:
        '  $ kubectl cle plan kube-scheduler -n kube-system --add scheduler-c=1.37.0/1.36.0 --remove scheduler-a\n' +
        '  $ kubectl cle plan kube-scheduler -n kube-system -f candidates.yaml\n' +
        '  $ kubectl cle plan web --priority web-2=100\n' +
        '  $ kubectl cle plan web --rollout web=2.1.0',
      table: planSettings,
      invocation,
    },
    run,
  );
}
