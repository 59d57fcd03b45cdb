import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { codeAt } from './code-at.ts';
import type { FileResult, Survivor } from './survivors-page.ts';

const report = new URL('../../reports/mutation/mutation.json', import.meta.url);

/** The used part of StrykerJS's report: https://github.com/stryker-mutator/mutation-testing-elements. */
interface Report {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>;
}

interface Mutant {
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status: string;
  /** Counted from 1. */
  readonly location: { readonly start: Place; readonly end: Place };
}

interface Place {
  readonly line: number;
  readonly column: number;
}

export function hasReport(): boolean {
  return existsSync(report);
}

/** So that a failed run leaves no report. */
export async function removeReport(): Promise<void> {
  await rm(report, { force: true });
}

/** The results of the last run for its files. */
export async function lastResults(): Promise<readonly FileResult[]> {
  const { files } = JSON.parse(await readFile(report, 'utf8')) as Report;
  return Object.entries(files).map(([path, { source, mutants }]) => {
    const tried = mutants.filter(({ status }) => status !== 'CompileError' && status !== 'Ignored');
    const survivors = tried
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .toSorted(byPlace)
      .map((mutant) => survivorIn(source, mutant));
    const noticed = tried.length - survivors.length;
    return { file: path.replace(/^src\//, ''), noticed, mutants: tried.length, survivors };
  });
}

function survivorIn(source: string, { mutatorName, replacement, location }: Mutant): Survivor {
  const fromZero = ({ line, column }: Place) => ({ line: line - 1, column: column - 1 });
  const code = codeAt(source, { start: fromZero(location.start), end: fromZero(location.end) });
  return { mutator: mutatorName, code, replacement };
}

function byPlace({ location: a }: Mutant, { location: b }: Mutant): number {
  return a.start.line - b.start.line || a.start.column - b.start.column;
}
