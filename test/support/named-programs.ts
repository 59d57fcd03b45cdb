import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A program of this repository that an npm script starts by its name. */
export interface NamedProgram {
  readonly file: URL;
  /** What the program does: a line of the help. */
  readonly does: string;
  /** It measures or uses dist/. */
  readonly needsBuild?: boolean;
  /** Options of Node. */
  readonly nodeArgs?: readonly string[];
}

/**
 * Runs the program named by the first argument with the remaining arguments. Without a name, runs all `standard`
 * programs one after the other, with all arguments; with --help, prints the names. Exits with the first exit code that
 * is not 0.
 * @param command starts this list of programs: `npm run bench`
 */
export function runNamed<N extends string>(
  command: string,
  programs: Readonly<Record<N, NamedProgram>>,
  standard: readonly NoInfer<N>[],
): void {
  const [first = '', ...rest] = process.argv.slice(2);
  if (first === '--help' || first === '-h') {
    process.stdout.write(helpOf(command, programs, standard));
    return;
  }
  const isNamed = (text: string): text is N => Object.hasOwn(programs, text);
  if (first !== '' && !first.startsWith('-') && !isNamed(first)) {
    process.stderr.write(`"${first}" is none of ${Object.keys(programs).join(', ')}\n`);
    process.exitCode = 2;
    return;
  }
  const names = isNamed(first) ? [first] : standard;
  const args = isNamed(first) ? rest : process.argv.slice(2);
  for (const name of names) {
    const { file, needsBuild = false, nodeArgs = [] } = programs[name];
    if (needsBuild && !succeeds('npm', ['run', 'build'])) return;
    if (!succeeds(process.execPath, [...nodeArgs, fileURLToPath(file), ...args])) return;
  }
}

function helpOf(
  command: string,
  programs: Readonly<Record<string, NamedProgram>>,
  standard: readonly string[],
): string {
  const width = Math.max(...Object.keys(programs).map((name) => name.length));
  const lines = Object.entries(programs).map(([name, { does }]) => `  ${name.padEnd(width)}  ${does}`);
  return `Usage: ${command} [-- [NAME] [options]]\n\n${lines.join('\n')}\n\nWithout NAME: ${standard.join(', ')}.\n`;
}

function succeeds(command: string, args: readonly string[]): boolean {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  process.exitCode = status ?? 1;
  return status === 0;
}
