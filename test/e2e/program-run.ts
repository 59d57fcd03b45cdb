import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The exit code and the output of the program. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs the program with a command line and only the given environment until it exits by itself. Kills it after a
 * timeout; `code` is then null.
 */
export async function runProgram(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  timeoutMs = 30_000,
): Promise<ProgramEnd> {
  const main = new URL('../../src/main.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env,
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}
