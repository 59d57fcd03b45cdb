import type { Command } from 'commander';
import {
  contradictionsWith,
  type ParticipateSettings,
  participateSettings,
} from '../settings/participate-settings.ts';
import { SettingsError } from '../settings/settings-table.ts';
import type { Invocation } from './invocation.ts';
import { leaseAndProgramCommand } from './settings-command.ts';

const EXAMPLES = `  $ coordinated-leader-election participate web -- node server.js    runs while this pod leads
  $ coordinated-leader-election participate web                      a sidecar: curl http://127.0.0.1:4040/leader
  $ coordinated-leader-election participate web --candidate-only --identity "$POD_NAME"

What the command finds in its environment: CLE_LEASE, CLE_HOLDER, CLE_FENCING_TOKEN.
Exit codes: those of the command, 128 and the signal's number where a signal ended it, 126 where it cannot be
executed, 127 where there is none; 0 stopped when asked to.`;

/** The `participate` command: reads and validates its settings, then hands them to `run`. */
export function participateCommand(
  invocation: Invocation,
  run: (lease: string, command: readonly string[], settings: ParticipateSettings) => Promise<number>,
): Command {
  return leaseAndProgramCommand(
    {
      name: 'participate',
      summary: 'take part in an election for a program, as its wrapper or its sidecar',
      description:
        'Stands as candidate for a Lease. With a command after --, runs it while this candidate leads, and only then. ' +
        'Without one, tells a program beside it who leads, by HTTP and in a file.',
      examples: EXAMPLES,
      table: participateSettings,
      invocation,
    },
    async (lease, command, settings) => {
      const contradictions = contradictionsWith(command, settings);
      if (contradictions.length > 0) throw new SettingsError(contradictions);
      return await run(lease, command, settings);
    },
  );
}
