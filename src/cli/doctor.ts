import type { Command } from 'commander';
import { type DoctorSettings, doctorSettings } from '../settings/inspection-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

/** The `doctor` command: reads and validates its settings, then hands them to `run`. */
export function doctorCommand(
  invocation: Invocation,
  run: (settings: DoctorSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'doctor',
      summary: 'examine a cluster, and say what to do about what is wrong',
      description:
        'Examines whether the API is served and the feature gate is on, who coordinates, what these credentials may do, ' +
        'whether clocks agree, and whether candidates answer. A Lease is created as a dry run; nothing is changed.',
      examples:
        '  $ kubectl cle doctor\n  $ kubectl cle doctor -o json\n\nExit codes: 0 all well, 3 errors, 4 warnings only.',
      table: doctorSettings,
      invocation,
    },
    run,
  );
}
