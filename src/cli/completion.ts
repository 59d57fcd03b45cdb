import { Argument, Command } from 'commander';
import type { TextOutput } from './output.ts';

/** Returns the `completion` command, which writes a script for a shell. */
export function completionCommand(stdout: TextOutput): Command {
  return new Command('completion')
    .summary('write a script that completes commands and options in a shell')
    .description('Writes a script that completes commands and options when Tab is pressed.')
    .allowExcessArguments(false)
    .addArgument(new Argument('<shell>', 'whose script to write').choices(Object.keys(completionScripts)))
    .addHelpText(
      'after',
      '\nExamples:\n' +
        '  $ source <(coordinated-leader-election completion bash)\n' +
        '  $ source <(coordinated-leader-election completion zsh)\n' +
        '  $ coordinated-leader-election completion fish > ~/.config/fish/completions/coordinated-leader-election.fish',
    )
    .action((shell: keyof typeof completionScripts) => {
      stdout.write(completionScripts[shell]);
    });
}

/**
 * Returns the possible completions of the last word in `words`, one per line. A description may follow after a tab. The
 * last line follows kubectl's protocol for plugins: `:0` if file names are also possible, otherwise `:4`.
 */
export function completionLines(words: readonly string[], program: Command): string {
  const typed = words.at(-1) ?? '';
  const [first, ...rest] = words.slice(0, -1);
  const commands = program.commands.map((one) => `${one.name()}\t${one.summary()}`);
  if (first === undefined) return lines(typed, commands);
  const command = program.commands.find((one) => one.name() === first);
  if (command === undefined) return lines(typed, []);
  // After `--`, the words are a command with its arguments: offer file names.
  if (rest.includes('--')) return lines(typed, [], true);
  const last = rest.at(-1) ?? '';
  const valued = command.options.find(
    ({ required, long, short }) => required && [long, short].includes(last),
  );
  if (valued) return lines(typed, valued.argChoices, valued.flags.includes('<path>'));
  if (typed.startsWith('-')) {
    const shown = command.options.filter(({ hidden }) => !hidden);
    const options = shown.map(({ long, description }) => `${long}\t${description}`);
    return lines(typed, options);
  }
  return lines(typed, command.registeredArguments[rest.length]?.argChoices);
}

/** The first argument with which a completion script calls this program. */
export const COMPLETE = '__complete';
export const NAME = 'coordinated-leader-election';
/** The file name of the program as a kubectl plugin. Users call the plugin as `kubectl cle`. */
export const PLUGIN = 'kubectl-cle';

function lines(typed: string, suggestions: readonly string[] = [], mayBeFiles = false): string {
  const fitting = suggestions.filter((suggestion) => suggestion.startsWith(typed));
  return `${[...fitting, mayBeFiles ? ':0' : ':4'].join('\n')}\n`;
}

/** The scripts ask this program for completions at each Tab, so completions always match the installed version. */
const completionScripts = {
  bash: `_cle_complete() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    case "$line" in
      :4) compopt +o default 2>/dev/null ;; # bash 3 cannot, and offers the names of files
      :*) ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <("\${COMP_WORDS[0]}" ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _cle_complete ${NAME} ${PLUGIN}
`,
  zsh: `#compdef ${NAME} ${PLUGIN}
_cle_complete() {
  local -a lines
  lines=("\${(@f)$("\${words[1]}" ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( \${lines[(Ie):0]} )); then _files; return; fi
  lines=("\${(@)lines:#:*}")
  compadd -- "\${(@)lines%%$'\\t'*}"
}
compdef _cle_complete ${NAME} ${PLUGIN}
`,
  fish: `function __cle_complete
  set -l words (commandline -opc) (commandline -ct)
  $words[1] ${COMPLETE} $words[2..-1] 2>/dev/null
end
for program in ${NAME} ${PLUGIN}
  complete -c $program -f -a '(__cle_complete | string match -v -r "^:")'
  complete -c $program -n '__cle_complete | string match -q ":0"' -F
end
`,
};
