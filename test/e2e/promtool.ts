import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How a promtool ended, and what it printed. */
export interface PromtoolRun {
  readonly code: number | null;
  readonly output: string;
}

/**
 * Runs the promtool on the PATH, or the one that the environment variable PROMTOOL names, to its end. `input` is its
 * standard input.
 * @throws Error that says what to install where there is none.
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
  // One that ends before it has read its input has said why.
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
