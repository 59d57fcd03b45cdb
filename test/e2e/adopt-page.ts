import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { cacheDirectory } from '../control-plane/binaries.ts';
import { type CommandBlock, commandBlocksIn } from '../support/command-blocks.ts';
import type { GuideSite } from './guide-site.ts';
import { followBlock } from './guide-steps.ts';
import { openShell } from './runbooks/shell.ts';

const run = promisify(execFile);
export const repository = join(import.meta.dirname, '../..');

/** A page of docs/adopt. A test follows its commands in order. */
export interface AdoptPage {
  readonly text: string;
  /**
   * Runs the next commands of the page.
   * @throws Error if they do not begin with `command`
   */
  follow(command: string): Promise<void>;
  /** Runs a command that is not on the page. Returns its output. */
  look(command: string): Promise<string>;
  /** The remaining commands. */
  remaining(): readonly string[];
}

/** Opens a page of docs/adopt, with a shell for the site's server, for the duration of the test. */
export async function openPage(name: string, { kubeconfig, folder }: GuideSite): Promise<AdoptPage> {
  const text = await readFile(join(repository, 'docs/adopt', `${name}.md`), 'utf8');
  const blocks: CommandBlock[] = [...commandBlocksIn(text)];
  const bin = await mkdtemp(join(folder, 'bin-'));
  const main = join(repository, 'src/main.ts');
  const program = `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`;
  await writeFile(join(bin, 'coordinated-leader-election'), program, { mode: 0o755 });
  const pip = Object.entries(process.env).filter(([variable]) => variable.startsWith('PIP_'));
  const shell = await openShell(kubeconfig, {
    folders: [bin, ...(await foldersOf('pip', 'mvn'))],
    env: {
      ...Object.fromEntries(pip),
      PIP_TARGET: pythonPackages,
      PIP_CACHE_DIR: join(cacheDirectory(), 'pip'),
    },
  });
  onTestFinished(() => shell.remove());
  return {
    text,
    async follow(command) {
      const block = blocks.shift();
      if (!block?.text.startsWith(command)) throw new Error(`the page goes on with: ${block?.text}`);
      await followBlock(shell, block);
    },
    async look(command) {
      const { code, output } = await shell.run(command);
      if (code !== 0) throw new Error(`${command}\nended with ${code}\n${output}`);
      return output;
    },
    remaining: () => blocks.map((block) => block.text),
  };
}

/**
 * The folder in which pip installs the requirements of a page: one for each list of requirements, because pip
 * replaces nothing there.
 */
export const pythonPackages = join(
  cacheDirectory(),
  `python-packages-${hash('sha256', readFileSync(join(repository, 'examples/kopf/requirements.txt'))).slice(0, 16)}`,
);

/** The folders of this machine's programs. */
async function foldersOf(...programs: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(
    // If one is missing, the page's command reports it.
    programs.map((program) => run('sh', ['-c', `command -v ${program} || true`])),
  );
  return found.flatMap(({ stdout }) => (stdout === '' ? [] : dirname(stdout.trim())));
}

/** The command of a Java example, after its build. */
export function javaExample(main: string): readonly string[] {
  const target = join(repository, 'examples/java/target');
  return ['java', '-cp', `${target}/classes:${target}/dependency/*`, `com.example.${main}`];
}

/**
 * The command of an example for Node. It imports the package by its name, as after `npm install`.
 */
export async function nodeExample(folder: string): Promise<readonly string[]> {
  const installed = join(folder, 'node_modules/coordinated-leader-election');
  await mkdir(installed, { recursive: true });
  await writeFile(join(installed, 'package.json'), JSON.stringify({ type: 'module', exports: './index.js' }));
  await writeFile(join(installed, 'index.js'), `export * from '${join(repository, 'src/index.ts')}';\n`);
  const worker = join(folder, 'worker.ts');
  await writeFile(worker, await readFile(join(repository, 'examples/node/worker.ts')));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  return [process.execPath, worker];
}
