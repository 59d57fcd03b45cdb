import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { hasReport, lastResults, removeReport } from './report.ts';
import { page } from './survivors-doc.ts';
import { mistakesIn } from './survivors-page.ts';

const stryker = fileURLToPath(
  new URL('../../node_modules/@stryker-mutator/core/bin/stryker.js', import.meta.url),
);

/** Runs StrykerJS, and checks that docs/contributing/mutation-survivors.md explains each surviving mutant. */
async function main(options: readonly string[]): Promise<number> {
  await removeReport();
  const running = spawn(process.execPath, [stryker, 'run', ...options], { stdio: 'inherit' });
  const [exitCode] = await once(running, 'exit');
  // No mutant was tried, perhaps because there was none to try.
  if (!hasReport()) return exitCode ?? 1;
  const mistakes = mistakesIn(await readFile(page, 'utf8'), await lastResults());
  for (const mistake of mistakes) process.stdout.write(`${mistake}\n`);
  if (mistakes.length === 0) return exitCode ?? 1;
  process.stdout.write(
    'Put docs/contributing/mutation-survivors.md right: `npm run docs -- mutation`, then a reason for each `?`.\n',
  );
  return 1;
}

process.exitCode = await main(process.argv.slice(2));
