import type { Command } from 'commander';
import { type TransferSettings, transferSettings } from '../settings/moving-settings.ts';
import type { Invocation } from './invocation.ts';
import { leaseCommand } from './settings-command.ts';

/** The `transfer` command: reads and validates its settings, then hands them to `run`. */
export function transferCommand(
  invocation: Invocation,
  run: (lease: string, settings: TransferSettings) => Promise<number>,
): Command {
  return leaseCommand(
    {
      name: 'transfer',
      summary: 'have a candidate lead a Lease, for some time',
      description:
        'Gives the candidate a priority above all others of the Lease, which ends by itself, and waits until it leads. ' +
        'Where it cannot lead, says why and leaves everything as it was. undrain takes it back.',
      examples:
        '  $ kubectl cle transfer web --to web-2\n  $ kubectl cle transfer web --to web-2 --for 15m\n\n' +
        'Exit codes: 0 it leads, 5 it does not.',
      table: transferSettings,
      invocation,
    },
    run,
  );
}
