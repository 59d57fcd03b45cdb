import { Argument, Command } from 'commander';
import { COMPLETE, completionScripts, type Shell, shells } from './completion-scripts.ts';
import type { TextOutput } from './text-output.ts';

export { COMPLETE };

/** The `completion` command: writes a script for a shell. */
export function completionCommand(stdout: TextOutput): Command {
  return new Command('completion')
    .summary('write a script that completes commands and options in a shell')
    .description('Writes a script that completes commands and options when Tab is pressed.')
    .allowExcessArguments(false)
    .addArgument(new Argument('<shell>', 'whose script to write').choices(shells))
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  $ source <(coordinated-leader-election completion bash)\n' +
        '  $ source <(coordinated-leader-election completion zsh)\n' +
        '  $ coordinated-leader-election completion fish > ~/.config/fish/completions/coordinated-leader-election.fish',
    )
    .action((shell: Shell) => {
      stdout.write(completionScripts[shell]);
    });
}
