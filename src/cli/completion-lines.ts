import type { Command, Option } from 'commander';

interface Suggestion {
  readonly word: string;
  readonly description: string;
}

/**
 * What could follow `words`, of which the last one is still being typed: a line each, with a description after a tab, and
 * at last what kubectl expects of its plugins, whether file names would do (`:0`) or not (`:4`).
 */
export function completionLines(words: readonly string[], program: Command): string {
  const typed = words.at(-1) ?? '';
  const [first, ...rest] = words.slice(0, -1);
  const command = first === undefined ? undefined : program.commands.find((one) => one.name() === first);
  if (command === undefined)
    return first === undefined ? lines(typed, commandsOf(program)) : lines(typed, []);
  const valued = command.options.find((option) => option.required && isCalled(option, rest.at(-1)));
  if (valued) return lines(typed, choicesOf(valued), valued.flags.includes('<path>'));
  if (typed.startsWith('-')) return lines(typed, optionsOf(command));
  const argument = command.registeredArguments[rest.length];
  const choices = argument?.argChoices ?? [];
  return lines(
    typed,
    choices.map((word) => ({ word, description: '' })),
  );
}

function commandsOf({ commands }: Command): readonly Suggestion[] {
  return commands.map((command) => ({ word: command.name(), description: command.summary() }));
}

function optionsOf({ options }: Command): readonly Suggestion[] {
  return options
    .filter(({ hidden }) => !hidden)
    .flatMap(({ long, description }) => (long ? [{ word: long, description }] : []));
}

function choicesOf({ argChoices = [] }: Option): readonly Suggestion[] {
  return argChoices.map((word) => ({ word, description: '' }));
}

function isCalled({ long, short }: Option, word: string | undefined): boolean {
  return word !== undefined && (word === long || word === short);
}

function lines(typed: string, suggestions: readonly Suggestion[], mayBeFiles = false): string {
  const fitting = suggestions
    .filter(({ word }) => word.startsWith(typed))
    .map(({ word, description }) => (description === '' ? word : `${word}\t${description}`));
  return `${[...fitting, mayBeFiles ? ':0' : ':4'].join('\n')}\n`;
}
