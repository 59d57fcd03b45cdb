import { globSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';

/** Files by their path from the root of the repository. */
export type Tree = ReadonlyMap<string, string>;

/** The page that documents the rules. */
export const RULES_PAGE = 'docs/rules.md';

/** What a rule consists of, in this order. */
const RULE_PARTS = ['What it says', 'Why', 'Code', 'Tests', 'The built-in'] as const;

/** A rule as the page has it. */
export interface Rule {
  readonly number: number;
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
    return number === undefined ? [] : [{ number: Number(number), parts: sectionsOf(text, '### ') }];
  });
}

/** The words that the glossary defines. */
export function glossaryWords(page: string): readonly string[] {
  const glossary = sectionsOf(page, '## ').find(({ title }) => title === 'Glossary')?.text ?? '';
  return itemsOf(glossary).flatMap((item) => {
    const words = item.split(': ')[0] ?? '';
    return [...words.matchAll(/\*\*([^*]+)\*\*/g)].map(([, word = '']) => word);
  });
}

/** Citations, outside of the tests of this page, of rules that there are not. */
export function unknownCitations(tree: Tree): readonly string[] {
  const known = new Set(rulesIn(pageOf(tree)).map(({ number }) => number));
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
    const uncited = rulesIn(pageOf(tree)).filter(({ number }) => !cited.has(number));
    return uncited.map(({ number }) => `nothing in ${folder} cites rule ${number}`);
  });
}

/** Rules that are out of order, or lack one of their parts. */
export function incompleteRules(tree: Tree): readonly string[] {
  const rules = rulesIn(pageOf(tree));
  const disordered = rules.flatMap(({ number }, index) => {
    const before = rules[index - 1]?.number ?? 0;
    return number > before ? [] : [`rule ${number} stands behind rule ${before}`];
  });
  const incomplete = rules.flatMap(({ number, parts }) => {
    const titles = parts.map(({ title, text }) => (text.trim() === '' ? `${title} (empty)` : title));
    return titles.join() === RULE_PARTS.join() ? [] : [`rule ${number} has the parts ${titles.join(', ')}`];
  });
  return [...disordered, ...incomplete];
}

/** Files, and what is said to be in them, that the page names and that are not there. */
export function brokenReferences(tree: Tree): readonly string[] {
  const page = pageOf(tree);
  const missing = [...page.matchAll(/`((?:src|test|docs|clients)\/[^`]*)`/g)].flatMap(([, path = '']) =>
    tree.has(path) ? [] : [`${path} does not exist`],
  );
  const links = [...page.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].flatMap(([, link = '']) =>
    tree.has(posix.join(posix.dirname(RULES_PAGE), link)) ? [] : [`the link to ${link} leads nowhere`],
  );
  const listed = rulesIn(page).flatMap(({ parts }) =>
    parts.flatMap(({ title, text }) => {
      if (title === 'Code') return itemsOf(text).flatMap((item) => missingNames(tree, item));
      return title === 'Tests' ? itemsOf(text).flatMap((item) => missingTitles(tree, item)) : [];
    }),
  );
  const elsewhere = [...inOneLine(page).matchAll(/`([#\w]+(?:\(\))?)` in `((?:src|test)\/[^`]+)`/g)];
  const misplaced = elsewhere.flatMap(([, name = '', path = '']) => absence(tree, name, [path]));
  return [...new Set([...missing, ...links, ...listed, ...misplaced])];
}

/** Words that the glossary has to define and does not, and those that it defines twice. */
export function incompleteGlossary(tree: Tree, required: readonly string[]): readonly string[] {
  const words = glossaryWords(pageOf(tree));
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

function pageOf(tree: Tree): string {
  return tree.get(RULES_PAGE) ?? '';
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
