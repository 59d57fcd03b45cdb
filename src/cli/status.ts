import type { Command } from 'commander';
import { type StatusSettings, statusSettings } from '../settings/inspection-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

/** The `status` command: reads and validates its settings, then hands them to `run`. */
export function statusCommand(
  invocation: Invocation,
  run: (settings: StatusSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'status',
      summary: 'show who leads, and what each Lease is waiting for',
      description:
        'Shows every Lease that has candidates or names a strategy. It looks once: what is said of time rests on ' +
        "renewTimes and the server's clock.",
      examples:
        '  $ kubectl cle status -n kube-system\n  $ kubectl cle status -A -o wide\n  $ kubectl cle status -A --watch',
      table: statusSettings,
      invocation,
    },
    run,
  );
}
