/** A surviving mutant, identified by its texts, because its line changes with the code above it. */
export interface Survivor {
  readonly mutator: string;
  readonly code: string;
  readonly replacement: string;
}

/** The results of a run for one file. */
export interface FileResult {
  /** Below src/. */
  readonly file: string;
  readonly noticed: number;
  /** Those that pass the type check. */
  readonly mutants: number;
  readonly survivors: readonly Survivor[];
}

export const MARK = '<!-- From here on `npm run docs -- mutation` writes all but the reasons. -->\n';
const UNJUDGED = '?';
const LONGEST_CODE = 100;
const HEAD = '| code | mutant | kind of change | why |\n|---|---|---|---|\n';

type Score = Pick<FileResult, 'noticed' | 'mutants'>;

/** A survivor on the page. */
interface Row {
  /** Everything except the reason. */
  readonly change: string;
  readonly why: string;
}

/**
 * Returns the page with the tables for `results`. Each survivor keeps its reason on the page; a new one is marked
 * with a `?`. Files without results keep their tables.
 */
export function withResults(page: string, results: readonly FileResult[]): string {
  const { intro, sections } = parse(page);
  const scores = new Map([...scoresIn(page), ...results.map((result) => [result.file, result] as const)]);
  for (const { file, survivors } of results) sections.set(file, rowsOf(survivors, sections.get(file) ?? []));
  const files = [...scores.keys()].sort();
  return `${intro}${MARK}
${summaryOf([...scores.values()])}
## Score by file

| file | noticed | mutants | % |
|---|---|---|---|
${files.map((file) => scoreRow(file, scores.get(file))).join('')}
## Each one
${files.map((file) => sectionOf(file, sections.get(file) ?? [])).join('')}`;
}

/** Returns the necessary corrections of the page; empty if it has exactly the survivors, each with a reason. */
export function mistakesIn(page: string, results: readonly FileResult[]): readonly string[] {
  const { sections } = parse(page);
  return results.flatMap(({ file, survivors }) => {
    const listed = sections.get(file) ?? [];
    const found = rowsOf(survivors, listed);
    return [
      ...found
        .filter(({ why }) => why === UNJUDGED)
        .map(({ change }) => `${file}: survives, unjudged: ${change}`),
      ...without(listed, found).map(({ change }) => `${file}: does not survive any more: ${change}`),
    ];
  });
}

function rowsOf(survivors: readonly Survivor[], listed: readonly Row[]): readonly Row[] {
  const left = [...listed];
  return survivors.map((survivor) => {
    const change = changeOf(survivor);
    const index = left.findIndex((row) => row.change === change);
    const [known] = index >= 0 ? left.splice(index, 1) : [];
    return { change, why: known?.why ?? UNJUDGED };
  });
}

/** Entries of `listed` that no longer exist; for equal ones, as many as there are too many. */
function without(listed: readonly Row[], found: readonly Row[]): readonly Row[] {
  const left = found.map(({ change }) => change);
  return listed.filter(({ change }) => {
    const index = left.indexOf(change);
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function parse(page: string): { readonly intro: string; readonly sections: Map<string, readonly Row[]> } {
  const [intro = '', tables = ''] = page.split(MARK);
  const sections = new Map<string, readonly Row[]>();
  for (const section of tables.split(/^### /m).slice(1)) {
    const file = section.slice(0, section.indexOf('\n'));
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    sections.set(file, rows.map(parseRow));
  }
  return { intro, sections };
}

function parseRow(line: string): Row {
  const end = line.lastIndexOf(' | ');
  return { change: line.slice(0, end), why: line.slice(end + 3).replace(/ \|$/, '') };
}

function scoresIn(page: string): readonly (readonly [string, Score])[] {
  const rows = page.matchAll(/^\| `(\S+\.ts)` \| (\d+) \| (\d+) \|/gm);
  return [...rows].map(([, file = '', noticed, mutants]) => [
    file,
    { noticed: Number(noticed), mutants: Number(mutants) },
  ]);
}

function summaryOf(scores: readonly Score[]): string {
  const sum = (of: (score: Score) => number) => scores.reduce((total, score) => total + of(score), 0);
  const [noticed, mutants] = [sum((score) => score.noticed), sum((score) => score.mutants)];
  return `The tests notice ${noticed} of ${mutants} mutants: ${percent(noticed, mutants)} %.\n`;
}

function scoreRow(file: string, score: Score = { noticed: 0, mutants: 0 }): string {
  const { noticed, mutants } = score;
  return `| \`${file}\` | ${noticed} | ${mutants} | ${percent(noticed, mutants)} |\n`;
}

function percent(part: number, whole: number): string {
  return ((100 * part) / Math.max(1, whole)).toFixed(1);
}

function sectionOf(file: string, rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  return `\n### ${file}\n\n${HEAD}${rows.map(({ change, why }) => `${change} | ${why} |\n`).join('')}`;
}

function changeOf({ code, replacement, mutator }: Survivor): string {
  return `| ${inTable(code)} | ${inTable(replacement)} | ${mutator}`;
}

function inTable(code: string): string {
  const line = code.replaceAll(/\s+/g, ' ').replaceAll('`', "'").replaceAll('|', '\\|');
  return `\`${line.length > LONGEST_CODE ? `${line.slice(0, LONGEST_CODE).replace(/\\$/, '')}…` : line}\``;
}
