import { execFileSync } from 'node:child_process';

/** The root of this repository, with a slash at its end. */
export const repositoryRoot = new URL('../../', import.meta.url).pathname;

/** Returns the paths, relative to the root, of all files that are tracked or would be with the next commit. */
export function repositoryFiles(...patterns: readonly string[]): readonly string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', '--deduplicate', '-z', '--'];
  const options = { cwd: repositoryRoot, encoding: 'utf8', maxBuffer: 2 ** 24 } as const;
  const listed = (more: readonly string[]) =>
    execFileSync('git', [...more, ...patterns], options)
      .split('\0')
      .filter((path) => path !== '');
  const deleted = new Set(listed(['ls-files', '--deleted', '-z', '--']));
  return listed(args).filter((path) => !deleted.has(path));
}
