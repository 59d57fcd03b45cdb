import { globSync, readFileSync } from 'node:fs';

/** Files by their path from the root of the repository. */
export type Tree = ReadonlyMap<string, string>;

/** The page that documents the rules. */
export const RULES_PAGE = 'docs/concepts/rules.md';

/** The page that lists the code and the tests of each rule. */
export const LISTS_PAGE = 'docs/contributing/rules-code-and-tests.md';

/** The page that defines the words of the rules. */
export const GLOSSARY_PAGE = 'docs/reference/glossary.md';

/** What each page says of a rule, in this order. */
const RULE_PARTS = {
  [RULES_PAGE]: ['What it says', 'Why', 'The built-in'],
  [LISTS_PAGE]: ['Code', 'Tests'],
} as const;

/** A rule as a page has it. */
export interface Rule {
  readonly number: number;
  readonly title: string;
  readonly parts: readonly { readonly title: string; readonly text: string }[];
}

/** Where tests of this page make rules up. */
const MADE_UP = 'test/docs/';
const TEXT = '{ts,js,md,txt,yaml,yml,json,html,css}';

/** All texts of src/, test/ and docs/, and the Go module. */
export function readTree(root: string): Tree {
  const paths = globSync([`{src,test,docs}/**/*.${TEXT}`, 'clients/**/*.go'], { cwd: root });
  return new Map(paths.map((path) => [toPosix(path), readFileSync(`${root}/${path}`, 'utf8')]));
}

/** The numbers of the rules that a text cites, as `rule 8`, `rules 1 and 3`, `Rules 2, 4 and 8` or `rules 2 to 4`. */
function citationsIn(text: string): readonly number[] {
  const citations = inOneLine(text).matchAll(/\brules? (\d+(?:(?:, | and | or |, and | to |[-–])\d+)*)\b/gi);
  return [...citations].flatMap(([, numbers = '']) => numbers.match(/\d+/g)?.map(Number) ?? []);
}

/** The rules that have a heading. */
export function rulesIn(page: string): readonly Rule[] {
  return sectionsOf(page, '## ').flatMap(({ title, text }) => {
    const number = /^Rule (\d+): \S/.exec(title)?.[1];
    return number === undefined ? [] : [{ number: Number(number), title, parts: sectionsOf(text, '### ') }];
  });
}

/** The words that the glossary defines. */
export function glossaryWords(tree: Tree): readonly string[] {
  return itemsOf(tree.get(GLOSSARY_PAGE) ?? '').flatMap((item) => {
    const words = item.split(': ')[0] ?? '';
    return [...words.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => word);
  });
}

/** Citations, outside of the tests of this page, of rules that there are not. */
export function unknownCitations(tree: Tree): readonly string[] {
  const known = new Set(rulesIn(tree.get(RULES_PAGE) ?? '').map(({ number }) => number));
  return [...tree].flatMap(([path, text]) => {
    if (path.startsWith(MADE_UP)) return [];
    const unknown = new Set(citationsIn(text).filter((number) => !known.has(number)));
    return [...unknown].map((number) => `${path} cites rule ${number}, which does not exist`);
  });
}

/** Rules that nobody cites in src/, or no test does. */
export function uncitedRules(tree: Tree): readonly string[] {
  return ['src/', 'test/'].flatMap((folder) => {
    const texts = [...tree].filter(([path]) => path.startsWith(folder) && !path.startsWith(MADE_UP));
    const cited = new Set(texts.flatMap(([, text]) => citationsIn(text)));
    const uncited = rulesIn(tree.get(RULES_PAGE) ?? '').filter(({ number }) => !cited.has(number));
    return uncited.map(({ number }) => `nothing in ${folder} cites rule ${number}`);
  });
}

/** Rules that are out of order, lack one of their parts, or have another title on the page of lists. */
export function incompleteRules(tree: Tree): readonly string[] {
  const titles = Object.keys(RULE_PARTS).map((path) =>
    rulesIn(tree.get(path) ?? '').map(({ title }) => title),
  );
  const [rules = [], lists = []] = titles;
  const different = rules.flatMap((title, index) =>
    title === lists[index] ? [] : [`${LISTS_PAGE} has "${lists[index]}" in the place of "${title}"`],
  );
  const incomplete = Object.entries(RULE_PARTS).flatMap(([path, wanted]) =>
    rulesIn(tree.get(path) ?? '').flatMap(({ number, parts }, index, all) => {
      const before = all[index - 1]?.number ?? 0;
      const disordered = number > before ? [] : [`rule ${number} stands behind rule ${before} in ${path}`];
      const found = parts.map(({ title, text }) => (text.trim() === '' ? `${title} (empty)` : title));
      const isComplete = found.join() === wanted.join();
      return [
        ...disordered,
        ...(isComplete ? [] : [`rule ${number} has the parts ${found.join(', ')} in ${path}`]),
      ];
    }),
  );
  return [...different, ...incomplete];
}

/** Files, and what is said to be in them, that the pages name and that are not there. */
export function brokenReferences(tree: Tree): readonly string[] {
  const broken = [RULES_PAGE, LISTS_PAGE, GLOSSARY_PAGE].flatMap((path) => {
    const page = tree.get(path) ?? '';
    const named = page.matchAll(/`((?:src|test|docs|clients)\/[^`]*)`/g);
    const missing = [...named].flatMap(([, file = '']) => (tree.has(file) ? [] : [`${file} does not exist`]));
    const elsewhere = inOneLine(page).matchAll(/`([#\w]+(?:\(\))?)` in `((?:src|test)\/[^`]+)`/g);
    const misplaced = [...elsewhere].flatMap(([, name = '', file = '']) => absence(tree, name, [file]));
    return [...missing, ...misplaced];
  });
  const listed = rulesIn(tree.get(LISTS_PAGE) ?? '').flatMap(({ parts }) =>
    parts.flatMap(({ title, text }) =>
      itemsOf(text).flatMap((item) =>
        title === 'Code' ? missingNames(tree, item) : missingTitles(tree, item),
      ),
    ),
  );
  return [...new Set([...broken, ...listed])];
}

/** Words that the glossary has to define and does not, and those that it defines twice. */
export function incompleteGlossary(tree: Tree, required: readonly string[]): readonly string[] {
  const words = glossaryWords(tree);
  const missing = required.filter((word) => !words.includes(word)).map((word) => `"${word}" is not defined`);
  const twice = words.filter((word, index) => words.indexOf(word) !== index);
  return [...missing, ...twice.map((word) => `"${word}" is defined twice`)];
}

/** The names in an item of a list that are not in the file that stands before them. */
function missingNames(tree: Tree, item: string): readonly string[] {
  return [...inGroups(item, /`([^`]+)`/g)].flatMap(({ found, files }) =>
    /^#?\w+(?:\(\))?$/.test(found) ? absence(tree, found, files) : [],
  );
}

/** The titles of tests in an item of a list that are not in the files that stand before them. */
function missingTitles(tree: Tree, item: string): readonly string[] {
  return [...inGroups(item, /`([^`]+)`|"([^"]+)"/g)].flatMap(({ found, files, isQuoted }) =>
    !isQuoted || files.some((path) => tree.get(path)?.includes(found))
      ? []
      : [`no test is called "${found}" in ${files.join(' or ') || 'any file that is named'}`],
  );
}

/** What a pattern finds in an item, each with the files that were named last: one, or several in a row. */
function* inGroups(item: string, pattern: RegExp) {
  let files: string[] = [];
  let wasFile = false;
  for (const [whole, name, quoted] of item.matchAll(pattern)) {
    const found = name ?? quoted ?? '';
    const isFile = /^(?:src|test|clients)\/.+\.\w+$/.test(found);
    if (isFile) files = wasFile ? [...files, found] : [found];
    else yield { found, files, isQuoted: whole.startsWith('"') };
    wasFile = isFile;
  }
}

function absence(tree: Tree, name: string, files: readonly string[]): readonly string[] {
  const isThere = name.endsWith('()') ? definitionOf(name.slice(0, -2)) : new RegExp(`\\b${bare(name)}\\b`);
  if (files.some((path) => isThere.test(tree.get(path) ?? ''))) return [];
  return [`${name} is not in ${files.join(' or ') || 'any file that is named'}`];
}

/** A function, or a method, by the way in which they begin; a call of the same name is none. */
function definitionOf(name: string): RegExp {
  const method = `^ +(?:(?:async|static|readonly|override|get|\\*) ?)*#?${bare(name)}(?:<[^>\\n]*>)?\\((?:.*\\{)?$`;
  const inGo = `^func (?:\\(\\w+ \\*?\\w+\\) )?${bare(name)}\\(`;
  return new RegExp(`\\bfunction\\*? ${bare(name)}\\b|\\bconst ${bare(name)} =|${method}|${inGo}`, 'm');
}

function bare(name: string): string {
  return name.replace(/^#/, '');
}

/** The sections of a Markdown text under headings of one level, each without its heading. */
function sectionsOf(
  text: string,
  level: string,
): readonly { readonly title: string; readonly text: string }[] {
  const [, ...sections] = `\n${text}`.split(`\n${level}`);
  return sections.map((section) => {
    const [title = '', ...lines] = section.split('\n');
    return { title, text: lines.join('\n') };
  });
}

/** The items of the lists in a Markdown text, each in one line. */
function itemsOf(text: string): readonly string[] {
  return [...text.matchAll(/^- (?:.+(?:\n {2}.+)*)/gm)].map(([item]) => inOneLine(item).slice(2));
}

/** A comment or a paragraph as one line. */
function inOneLine(text: string): string {
  return text.replaceAll(/\s*\n[ \t]*(?:\*(?!\*|\/)|\/\/|#)?[ \t]*/g, ' ');
}

function toPosix(path: string): string {
  return path.replaceAll('\\', '/');
}
