import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check';
import type { Mutant } from '@stryker-mutator/api/core';
import { codeAt, withCodeAt } from './code-at.ts';

const root = new URL('../../', import.meta.url);
/** Inside the repository, where packages and types are resolved. */
const place = new URL('reports/mutation/compiled/', root);

/** Unused code is not an error here: a mutant may leave some. */
const config = {
  extends: '../../../tsconfig.json',
  compilerOptions: { noUnusedLocals: false, noUnusedParameters: false, allowUnreachableCode: true },
  include: ['src/**/*.mutant-*.ts'],
  exclude: [],
};

/**
 * Tells StrykerJS which mutants fail the type check. Its own checker does not support TypeScript 7. So each mutant
 * becomes a copy of its file, and one run of the compiler checks all.
 */
export class CompilerChecker implements Checker {
  async init(): Promise<void> {
    await rm(place, { recursive: true, force: true });
  }

  async group(mutants: readonly Mutant[]): Promise<string[][]> {
    return [mutants.map(({ id }) => id)];
  }

  async check(mutants: readonly Mutant[]): Promise<Record<string, CheckResult>> {
    await mkdir(place, { recursive: true });
    await cp(new URL('src/', root), new URL('src/', place), { recursive: true });
    await writeFile(new URL('tsconfig.json', place), JSON.stringify(config));
    const copies = await Promise.all(mutants.map(copyOf));
    const refused = await copiesWithErrors();
    const unknown = [...refused.keys()].filter((copy) => !copies.includes(copy));
    if (unknown.length > 0) throw new Error(`the type check of the mutants finds a mistake in ${unknown}`);
    await rm(place, { recursive: true });
    return Object.fromEntries(
      mutants.map(({ id }, index): [string, CheckResult] => {
        const reason = refused.get(copies[index] ?? '');
        if (reason === undefined) return [id, { status: CheckStatus.Passed }];
        return [id, { status: CheckStatus.CompileError, reason }];
      }),
    );
  }
}

/** Writes the mutated file beside the copy of the original. */
async function copyOf({ id, fileName, location, replacement }: Mutant): Promise<string> {
  const source = await readFile(fileName, 'utf8');
  // An expression replaces an expression, regardless of its context.
  const isPart = /^(?:case\b|default\b|\{|;)/.test(replacement) || codeAt(source, location).endsWith(';');
  const changed = withCodeAt(source, location, isPart ? replacement : `(${replacement})`);
  const copy = relative(fileURLToPath(root), fileName).replace(/\.ts$/, `.mutant-${id}.ts`);
  await writeFile(new URL(copy, place), changed);
  return copy;
}

/** The files with errors, each with its first error. */
async function copiesWithErrors(): Promise<ReadonlyMap<string, string>> {
  const tsc = fileURLToPath(new URL('node_modules/typescript/bin/tsc', root));
  const compiler = spawn(process.execPath, [tsc, '--pretty', 'false'], {
    cwd: place,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const mistakes = new Map<string, string>();
  for (const [, file = '', mistake = ''] of (await text(compiler.stdout)).matchAll(
    /^(\S+\.ts)\(\d+,\d+\): error (.*)$/gm,
  )) {
    if (!mistakes.has(file)) mistakes.set(file, mistake);
  }
  return mistakes;
}
