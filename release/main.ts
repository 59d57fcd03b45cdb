// Makes a release of what is committed, in the clone that it is called in: npm run release -- 1.2.3 [--dry-run].
// Nothing leaves this machine: the commit and its tags are there to be pushed.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/support/text.ts';
import { type Checkout, newLines, planRelease, type ReleasePlan, ReleaseRefusal } from './plan.ts';
import type { TextFile } from './version-places.ts';

const USAGE = 'usage: npm run release -- VERSION [--dry-run]';

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

function gatherCheckout(): Checkout {
  const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly version: string;
    readonly repository: { readonly url: string };
  };
  const isClean = git('status', '--porcelain') === '';
  return {
    version,
    repository: repository.url.replace(/^git\+|\.git$/g, ''),
    isClean,
    tags: git('tag', '--list').split('\n'),
    files: isClean ? textFiles() : [],
  };
}

/** The files of the repository that git takes for text. */
function textFiles(): readonly TextFile[] {
  const paths = git('grep', '--cached', '--files-with-matches', '-I', '-z', '-e', '').split('\0');
  return paths.filter((path) => path !== '').map((path) => ({ path, text: readFileSync(path, 'utf8') }));
}

function applyRelease({ changed, message, tags }: ReleasePlan): void {
  for (const { path, text } of changed) writeFileSync(path, text);
  git('add', '--', ...changed.map(({ path }) => path));
  git('commit', '--quiet', '--message', message);
  for (const tag of tags) git('tag', '--annotate', '--message', message, tag);
}

function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'dry-run': { type: 'boolean', default: false } },
  });
  const [version, ...more] = positionals;
  if (version === undefined || more.length > 0) throw new ReleaseRefusal(USAGE);
  const checkout = gatherCheckout();
  const plan = planRelease(checkout, version, new Date().toISOString().slice(0, 10));
  const tags = plan.tags.join(' and ');
  if (values['dry-run']) {
    for (const { path, lines } of newLines(plan, checkout)) {
      console.log([path, ...lines.map((line) => `  ${line}`)].join('\n'));
    }
    console.log(`\nWould commit this as "${plan.message}" and tag it ${tags}. Nothing was changed.`);
    return;
  }
  applyRelease(plan);
  console.log(`${plan.changed.length} files changed, committed as "${plan.message}" and tagged ${tags}.`);
  console.log('Once .ci/run has passed on it: git push --follow-tags');
}

function isUsageError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

try {
  main();
} catch (error) {
  if (!(error instanceof ReleaseRefusal) && !isUsageError(error)) throw error;
  console.error(messageOf(error));
  process.exitCode = 1;
}
