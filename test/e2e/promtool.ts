import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** The exit code and output of a promtool. */
export interface PromtoolRun {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Runs the promtool on the PATH, or the one in the environment variable PROMTOOL, until it exits. `input` is its
 * standard input.
 * @throws Error with what to install if there is none
 */
export async function runPromtool(args: readonly string[], input = ''): Promise<PromtoolRun> {
  const path = process.env['PROMTOOL'] || 'promtool';
  const child = spawn(path, args, { stdio: ['pipe', 'pipe', 'pipe'], timeout: 60_000 });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  // A process that exits before it has read its input has printed the reason.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output };
  } catch (cause) {
    const remedy = 'install the Debian package prometheus, or set PROMTOOL to the path of its program';
    throw new Error(`${path} cannot be run: ${remedy}`, { cause });
  }
}
