import { Command, CommanderError } from 'commander';
import { demoSettings } from '../settings/demo-settings.ts';
import { runSettings } from '../settings/run-settings.ts';
import { envName, rowsOf, SettingsError, type SettingsTable } from '../settings/settings-table.ts';
import type { Environment } from '../support/host.ts';
import { printableLines } from '../support/text.ts';
import { commandFor } from './command-options.ts';
import { type CommandEntry, type CommandInput, commands } from './commands.ts';
import { COMPLETE, completionCommand, completionLines, NAME, PLUGIN } from './completion.ts';
import { EXIT_CODES, exitCode } from './exit-code.ts';
import type { TextOutput } from './output.ts';

/** What the program needs from its caller (`main.ts` or a test): environment, outputs, and a way to run commands. */
export interface ProgramParts {
  readonly version: string;
  /** The name of the executed file: `kubectl-cle` if kubectl executes this program as a plugin. */
  readonly invokedAs?: string;
  readonly env: Environment;
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  /** Runs a command. Resolves to the exit code. If the promise rejects, the program reports the error and fails. */
  dispatch(command: CommandEntry, input: CommandInput<unknown>): Promise<number>;
}

const GLOBAL_FLAGS = ['-h', '--help', '-V', '--version'];
const HELP_WIDTH = 110;

const AFTER_PLUGIN_HELP = `
Examples:
  $ kubectl cle audit -A
  $ kubectl cle status -A
  $ kubectl cle explain kube-scheduler -n kube-system
  $ kubectl cle doctor
${EXIT_CODES}`;

const AFTER_HELP = `
The default command is the demo, which connects to no cluster. In a pod, or if a variable of run is set, it is run.
Options without a command belong to run, or to the demo if only the demo has them.

Examples:
  $ npm start                                         the demo
  $ npm start -- --once                               the scripted tour of the demo
  $ npm start -- --kubeconfig ~/.kube/config --dry-run
  $ npm start -- run --help                           every option of run

Every option has an environment variable: --lease-duration of run is CLE_LEASE_DURATION, --listen of serve is
CLE_SERVE_LISTEN, --once of demo is CLE_DEMO_ONCE.
${EXIT_CODES}`;

/** Runs the program with these arguments. Resolves to the exit code. Reports all errors, and never ends the process. */
export async function runProgram(args: readonly string[], parts: ProgramParts): Promise<number> {
  let code: number = exitCode.ok;
  const program = commandLine(parts, (ended) => {
    code = ended;
  });
  if (args[0] === COMPLETE) {
    parts.stdout.write(completionLines(args.slice(1), program));
    return code;
  }
  try {
    await program.parseAsync(withCommand(withoutEqualsSigns(args), parts), { from: 'user' });
    return code;
  } catch (error) {
    return report(error, parts.stderr);
  }
}

/**
 * Changes `-o=json` to `-ojson`: kubectl accepts both forms, but Commander accepts only `-ojson`. Does not change
 * arguments after `--`: they belong to another program.
 */
function withoutEqualsSigns(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.map((arg, index) => (end >= 0 && index > end ? arg : arg.replace(/^(-[A-Za-z])=/, '$1')));
}

/**
 * Adds a command if the arguments name none, except in the kubectl plugin. Does not use Commander's default command:
 * this default command would take a mistyped command as an argument.
 * - If the first argument is an option (but not help or version): `demo` if one of the options belongs to `demo` and
 *   not to `run`, otherwise `run`.
 * - Without arguments: `run` in a pod or if an environment variable of `run` is set, otherwise `demo`. KUBECONFIG does
 *   not count, because its current context may be any cluster.
 */
function withCommand(args: readonly string[], { invokedAs, env }: ProgramParts): readonly string[] {
  const [first] = args;
  // The plugin has no default command: `kubectl cle` without arguments shows the help.
  if (invokedAs === PLUGIN) return first === undefined ? ['--help'] : args;
  if (first === undefined) return [isRunConfigured(env) ? 'run' : 'demo'];
  if (!first.startsWith('-') || GLOBAL_FLAGS.includes(first)) return args;
  return [args.some(isOnlyOfDemo) ? 'demo' : 'run', ...args];
}

function isOnlyOfDemo(arg: string): boolean {
  const flag = arg.replace(/^--(no-)?/, '').replace(/=.*/, '');
  return arg.startsWith('--') && hasFlag(demoSettings, flag) && !hasFlag(runSettings, flag);
}

function hasFlag<S>(table: SettingsTable<S>, flag: string): boolean {
  return rowsOf(table).some(([, setting]) => setting.flag === flag);
}

function isRunConfigured(env: Environment): boolean {
  const names = rowsOf(runSettings).map(([, setting]) => envName(runSettings, setting));
  return ['KUBERNETES_SERVICE_HOST', ...names].some((name) => Boolean(env[name]));
}

function commandLine(parts: ProgramParts, onEnd: (code: number) => void): Command {
  const isPlugin = parts.invokedAs === PLUGIN;
  const program = new Command(isPlugin ? PLUGIN.replace('-', ' ') : NAME)
    .description('Elects the best LeaseCandidate for every Lease of a Kubernetes cluster, at once.')
    .version(parts.version, '-V, --version', 'show the version')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', isPlugin ? AFTER_PLUGIN_HELP : AFTER_HELP);
  for (const entry of commands) {
    program.addCommand(
      commandFor(entry, parts.env, async (input) => onEnd(await parts.dispatch(entry, input))),
    );
  }
  program.addCommand(completionCommand(parts.stdout));
  for (const command of [program, ...program.commands]) {
    command
      .helpOption('-h, --help', 'show this help')
      .showHelpAfterError('Try --help.')
      .exitOverride()
      .configureOutput({
        writeOut: (text) => parts.stdout.write(text),
        writeErr: (text) => parts.stderr.write(text),
        getOutHelpWidth: () => parts.stdout.columns ?? HELP_WIDTH,
        getErrHelpWidth: () => parts.stderr.columns ?? HELP_WIDTH,
        getOutHasColors: () => parts.stdout.isTTY ?? false,
        getErrHasColors: () => parts.stderr.isTTY ?? false,
      });
  }
  return program;
}

/** Maximum characters of a command's error. A server or a credential plugin may have written a text of any length. */
const MAX_ERROR_LENGTH = 4000;

function report(error: unknown, stderr: TextOutput): number {
  if (error instanceof CommanderError) {
    // Commander has already printed the message. Commander also throws for --help and --version, with exit code 0.
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  }
  if (error instanceof SettingsError) {
    for (const problem of error.problems) stderr.write(`error: ${problem}\n`);
    stderr.write('Try --help.\n');
    return exitCode.usage;
  }
  const message = error instanceof Error ? messageWithCauses(error) : String(error);
  stderr.write(`error: ${printableLines(message, MAX_ERROR_LENGTH)}\n`);
  return exitCode.failure;
}

function messageWithCauses(error: Error): string {
  if (!(error.cause instanceof Error) || error.message.includes(error.cause.message)) return error.message;
  return `${error.message}: ${messageWithCauses(error.cause)}`;
}
