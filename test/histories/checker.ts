import { execFile } from 'node:child_process';
import { join } from 'node:path';

/** The findings of the checker. */
export interface Verdict {
  readonly problems: readonly string[];
  readonly figures: Readonly<
    Record<
      | 'operations'
      | 'refused'
      | 'unknown'
      | 'unknownSeenLater'
      | 'lists'
      | 'watchEvents'
      | 'bookmarks'
      | 'watchSpans'
      | 'watchesResumed'
      | 'watchesExpired'
      | 'states'
      | 'objects'
      | 'checkMs',
      number
    >
  >;
}

/** Builds the checker into this folder and returns its path. Go reuses its build cache. */
export async function buildChecker(directory: string): Promise<string> {
  const path = join(directory, 'checker');
  const source = join(import.meta.dirname, 'checker');
  const { code, errors } = await run(
    'go',
    ['build', '-trimpath', '-buildvcs=false', '-o', path, '.'],
    source,
  );
  if (code !== 0) throw new Error(`the checker cannot be built: install Go 1.26 or newer (${errors.trim()})`);
  return path;
}

/**
 * Checks the history in a file. Writes pictures of violations to `directory`.
 * @throws {Error} if the file cannot be read
 */
export async function checkHistory(checker: string, history: string, directory: string): Promise<Verdict> {
  const args = [`--history=${history}`, `--pictures=${directory}`];
  const { code, output, errors } = await run(checker, args, directory);
  if (code === 0 || code === 1) return JSON.parse(output) as Verdict;
  throw new Error(`the history in ${history} cannot be checked: ${errors.trim()}`);
}

function run(
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | undefined; output: string; errors: string }> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, output, errors) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : undefined;
      resolve({ code, output, errors: errors || (error?.message ?? '') });
    });
  });
}
