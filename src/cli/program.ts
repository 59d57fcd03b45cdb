import { Command, CommanderError } from 'commander';
import type { DemoSettings } from '../settings/demo-settings.ts';
import type {
  DoctorSettings,
  ExplainSettings,
  PlanSettings,
  StatusSettings,
} from '../settings/inspection-settings.ts';
import type { DrainSettings, TransferSettings, UndrainSettings } from '../settings/moving-settings.ts';
import type { ParticipateSettings } from '../settings/participate-settings.ts';
import type { RunSettings } from '../settings/run-settings.ts';
import type { ServeSettings } from '../settings/serve-settings.ts';
import { SettingsError } from '../settings/settings-table.ts';
import type { Environment } from '../support/host.ts';
import { printableLines } from '../support/text.ts';
import { COMPLETE, completionCommand } from './completion.ts';
import { completionLines } from './completion-lines.ts';
import { demoCommand } from './demo.ts';
import { doctorCommand } from './doctor.ts';
import { drainCommand, undrainCommand } from './drain.ts';
import { exitCode } from './exit-code.ts';
import { explainCommand } from './explain.ts';
import { impliedCommand } from './implied-command.ts';
import type { Invocation } from './invocation.ts';
import { participateCommand } from './participate.ts';
import { planCommand } from './plan.ts';
import { NAME, PLUGIN } from './program-name.ts';
import { runCommand } from './run.ts';
import { serveCommand } from './serve.ts';
import { statusCommand } from './status.ts';
import type { TextOutput } from './text-output.ts';
import { transferCommand } from './transfer.ts';

/** What {@link createProgram} is made of. Everything the program does to the world goes through here. */
export interface ProgramParts {
  readonly version: string;
  /** The name of the file that was executed; kubectl executes its plugins as `kubectl-cle`. */
  readonly invokedAs?: string;
  readonly env: Environment;
  readonly stdout: TextOutput;
  readonly stderr: TextOutput;
  /** Each resolves to an exit code once it has ended. An Error that it throws is reported and ends in exit code 1. */
  readonly commands: {
    run(settings: RunSettings): Promise<number>;
    serve(settings: ServeSettings): Promise<number>;
    demo(settings: DemoSettings): Promise<number>;
    status(settings: StatusSettings): Promise<number>;
    explain(lease: string, settings: ExplainSettings): Promise<number>;
    plan(lease: string, settings: PlanSettings): Promise<number>;
    doctor(settings: DoctorSettings): Promise<number>;
    transfer(lease: string, settings: TransferSettings): Promise<number>;
    drain(settings: DrainSettings): Promise<number>;
    undrain(settings: UndrainSettings): Promise<number>;
    participate(lease: string, command: readonly string[], settings: ParticipateSettings): Promise<number>;
  };
}

/** The command line: takes the arguments after the program's name, resolves to an exit code, never exits by itself. */
export interface Program {
  execute(args: readonly string[]): Promise<number>;
}

const GLOBAL_FLAGS = ['-h', '--help', '-V', '--version'];
const HELP_WIDTH = 110;

const EXIT_CODES = `
Exit codes:
  0  done, or stopped when asked to
  1  failed; the error output says why
  2  the command line or the environment cannot be used as given
  3  doctor found errors
  4  doctor found warnings, but no errors
  5  transfer or drain: a leader has not moved; the output says which and why
  participate with a command: those of the command
  141  nobody reads the output any more`;

const AFTER_PLUGIN_HELP = `
Examples:
  $ kubectl cle status -A
  $ kubectl cle explain kube-scheduler -n kube-system
  $ kubectl cle doctor
${EXIT_CODES}`;

const AFTER_HELP = `
Without a command it is the demo, which touches no cluster, unless this is a pod or a variable of run is set.
Options without a command are those of run, or of the demo if only that has them.

Examples:
  $ npm start                                         the demo
  $ npm start -- --once                               its tour, which ends by itself
  $ npm start -- --kubeconfig ~/.kube/config --dry-run
  $ npm start -- run --help                           every option of run

Every option has an environment variable: --lease-duration of run is CLE_LEASE_DURATION, --listen of serve is
CLE_SERVE_LISTEN, --once of demo is CLE_DEMO_ONCE.
${EXIT_CODES}`;

/** Builds the command line around the given commands. */
export function createProgram(parts: ProgramParts): Program {
  return {
    async execute(args) {
      const invocation: Invocation = { env: parts.env, exitCode: exitCode.ok };
      const program = commandLine(parts, invocation);
      if (args[0] === COMPLETE) {
        parts.stdout.write(completionLines(args.slice(1), program));
        return exitCode.ok;
      }
      try {
        await program.parseAsync(withCommand(withoutEqualsSigns(args), parts), { from: 'user' });
        return invocation.exitCode;
      } catch (error) {
        return report(error, parts.stderr);
      }
    },
  };
}

/** kubectl takes `-o=json` for `-o json`; to commander the sign would be part of the value. After `--` nothing is ours. */
function withoutEqualsSigns(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return args.map((arg, index) => (end >= 0 && index > end ? arg : arg.replace(/^(-[A-Za-z])=/, '$1')));
}

/**
 * The default command is named here rather than to commander, which would pass a mistyped command to it as a surplus
 * argument and never suggest the right one.
 */
function withCommand(args: readonly string[], { invokedAs, env }: ProgramParts): readonly string[] {
  const [first] = args;
  // Whoever types `kubectl cle` wants to know what there is, not a server of its own.
  if (invokedAs === PLUGIN) return first === undefined ? ['--help'] : args;
  const isCommandMissing = first === undefined || (first.startsWith('-') && !GLOBAL_FLAGS.includes(first));
  return isCommandMissing ? [impliedCommand(args, env), ...args] : args;
}

function commandLine(parts: ProgramParts, invocation: Invocation): Command {
  const isPlugin = parts.invokedAs === PLUGIN;
  const program = new Command(isPlugin ? PLUGIN.replace('-', ' ') : NAME)
    .description('Elects the best LeaseCandidate for every Lease of a Kubernetes cluster, at once.')
    .version(parts.version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', isPlugin ? AFTER_PLUGIN_HELP : AFTER_HELP);
  program.addCommand(runCommand(invocation, parts.commands.run));
  program.addCommand(serveCommand(invocation, parts.commands.serve));
  program.addCommand(demoCommand(invocation, parts.commands.demo));
  program.addCommand(statusCommand(invocation, parts.commands.status));
  program.addCommand(explainCommand(invocation, parts.commands.explain));
  program.addCommand(planCommand(invocation, parts.commands.plan));
  program.addCommand(doctorCommand(invocation, parts.commands.doctor));
  program.addCommand(transferCommand(invocation, parts.commands.transfer));
  program.addCommand(drainCommand(invocation, parts.commands.drain));
  program.addCommand(undrainCommand(invocation, parts.commands.undrain));
  program.addCommand(participateCommand(invocation, parts.commands.participate));
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

/** In characters: servers and plugins may say anything. */
const LONGEST_ERROR = 4000;

function report(error: unknown, stderr: TextOutput): number {
  if (error instanceof CommanderError) {
    // Commander has already said what there is to say; it ends --help and --version this way too, with exit code 0.
    return error.exitCode === 0 ? exitCode.ok : exitCode.usage;
  }
  if (error instanceof SettingsError) {
    for (const problem of error.problems) stderr.write(`error: ${problem}\n`);
    stderr.write('Try --help.\n');
    return exitCode.usage;
  }
  const message = error instanceof Error ? messageWithCauses(error) : String(error);
  stderr.write(`error: ${printableLines(message, LONGEST_ERROR)}\n`);
  return exitCode.failure;
}

function messageWithCauses(error: Error): string {
  if (!(error.cause instanceof Error) || error.message.includes(error.cause.message)) return error.message;
  return `${error.message}: ${messageWithCauses(error.cause)}`;
}
