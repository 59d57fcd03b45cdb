import type { Command } from 'commander';
import {
  type DrainSettings,
  drainSettings,
  type UndrainSettings,
  undrainSettings,
} from '../settings/moving-settings.ts';
import type { Invocation } from './invocation.ts';
import { plainCommand } from './settings-command.ts';

/** The `drain` command: reads and validates its settings, then hands them to `run`. */
export function drainCommand(
  invocation: Invocation,
  run: (settings: DrainSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'drain',
      summary: 'move leaders off a node, a zone or a candidate, for some time',
      description:
        'Puts the candidates behind all others, by a priority that ends by itself, and waits until those that lead have ' +
        'been followed. Where nobody else can lead, the leader stays, and that is told. undrain takes it back.',
      examples:
        '  $ kubectl cle drain -A --selector topology.kubernetes.io/zone=b\n' +
        '  $ kubectl cle drain -A --node worker-3 --for 30m\n' +
        '  $ kubectl cle drain --candidate web-0\n\n' +
        'Exit codes: 0 all leaders have moved, 5 some have not.',
      table: drainSettings,
      invocation,
    },
    run,
  );
}

/** The `undrain` command: reads and validates its settings, then hands them to `run`. */
export function undrainCommand(
  invocation: Invocation,
  run: (settings: UndrainSettings) => Promise<number>,
): Command {
  return plainCommand(
    {
      name: 'undrain',
      summary: 'take back what drain and transfer have set',
      description:
        'Removes the priorities that drain and transfer have set, and no others. What was set before them counts again.',
      examples:
        '  $ kubectl cle undrain -A --selector topology.kubernetes.io/zone=b\n  $ kubectl cle undrain -A --all',
      table: undrainSettings,
      invocation,
    },
    run,
  );
}
