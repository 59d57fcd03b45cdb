import { describe, expect, test } from 'vitest';
import { runSettings } from '../../src/settings/run-settings.ts';
import {
  brokenReferences,
  citationsIn,
  glossaryWords,
  incompleteGlossary,
  incompleteRules,
  RULE_PARTS,
  RULES_PAGE,
  readTree,
  type Tree,
  uncitedRules,
  unknownCitations,
} from './rules-doc.ts';

const root = new URL('../../', import.meta.url).pathname;
const tree = readTree(root);
const page = tree.get(RULES_PAGE) ?? '';

/** Words of this project's own that a stranger meets in code, documents or metrics. */
const OWN_WORDS =
  'standing, tenure, outcome, verdict, decision, election result, strategy resolution, reason, reconcile, turn, survey, grant, ' +
  'take up, yield, release, withdraw, lapse, reserve, expire, collect, revise, ping, ack, idle, fresh, unresponsive, vacant, ' +
  'held, doubt, holder, candidate, preference, provisional';

/** A page with two rules that are in order, and what they refer to. */
function makeTree(changes: Readonly<Record<string, string>> = {}): Tree {
  const rule = (number: number, code: string) =>
    [
      `## Rule ${number}: A`,
      ...RULE_PARTS.map((part) => `### ${part}\n\n${part === 'Code' ? code : 'a'}`),
    ].join('\n\n');
  return new Map(
    Object.entries({
      [RULES_PAGE]: [
        rule(1, '- `src/a.ts`: `decide()`, `LIMIT`; `src/b.ts`: `#apply()`.'),
        rule(2, '- `src/a.ts`.'),
        '## Glossary\n\n- **look**: a. (`Look` in\n  `src/b.ts`.)\n- **turn**, **wave**: a.',
      ].join('\n\n'),
      'src/a.ts': '// Rule 1.\nconst LIMIT = 8;\nexport function decide(): void {\n  apply();\n}\n',
      'src/b.ts':
        '/** Rules 1\n * and 2. */\nclass Look {\n  async #apply(\n    a: number,\n  ): void {}\n}\n',
      'test/a.test.ts': "test('a (rules 1 and 2)', () => {});\n",
      ...changes,
    }),
  );
}

/** The tree with one text changed in one place. */
function makeChanged(path: string, from: string, to: string): Tree {
  const before = makeTree().get(path) ?? '';
  expect(before).toContain(from);
  return makeTree({ [path]: before.replace(from, to) });
}

describe('a citation', () => {
  test.each([
    { name: 'of one rule', text: 'see rule 8.', want: [8] },
    { name: 'at the beginning of a sentence', text: 'Rule 12 says so', want: [12] },
    { name: 'of two rules', text: '(rules 1 and 3)', want: [1, 3] },
    { name: 'of several rules', text: 'rules 2, 4 and 8', want: [2, 4, 8] },
    { name: 'of a range', text: 'rules 9 to 11, rules 13-16', want: [9, 11, 13, 16] },
    {
      name: 'across the lines of a comment',
      text: '/**\n * a (rule\n * 8, rules 1\n * and 3) */',
      want: [8, 1, 3],
    },
    { name: 'across line comments', text: '  // as rule\n  // 5 has it', want: [5] },
    { name: 'is not what has no number', text: 'rules: 3, a rule of 8, ruler 4', want: [] },
  ])('$name', ({ text, want }) => {
    expect(citationsIn(text)).toEqual(want);
  });
});

describe('the check of citations', () => {
  test.each([
    { name: 'is content with rules that exist', tree: makeTree(), want: [] },
    {
      name: 'finds a rule that does not exist in src/',
      tree: makeChanged('src/a.ts', 'Rule 1', 'Rule 3'),
      want: ['src/a.ts cites rule 3, which does not exist'],
    },
    {
      name: 'finds one in test/',
      tree: makeChanged('test/a.test.ts', 'rules 1 and 2', 'rules 1, 2 and 13'),
      want: ['test/a.test.ts cites rule 13, which does not exist'],
    },
    {
      name: 'finds one in docs/',
      tree: makeTree({ 'docs/b.md': 'as rule 4 has it' }),
      want: ['docs/b.md cites rule 4, which does not exist'],
    },
    { name: 'leaves out its own cases', tree: makeTree({ 'test/docs/a.test.ts': 'rule 99' }), want: [] },
  ])('$name', ({ tree: those, want }) => {
    expect(unknownCitations(those)).toEqual(want);
  });

  test.each([
    { name: 'is content with rules that are cited', tree: makeTree(), want: [] },
    {
      name: 'finds a rule that nothing in src/ cites',
      tree: makeChanged('src/b.ts', ' and 2', ''),
      want: ['nothing in src/ cites rule 2'],
    },
    {
      name: 'finds a rule that no test cites, though these cases do',
      tree: makeTree({ 'test/a.test.ts': 'rule 2', 'test/docs/a.test.ts': 'rule 1' }),
      want: ['nothing in test/ cites rule 1'],
    },
  ])('$name', ({ tree: those, want }) => {
    expect(uncitedRules(those)).toEqual(want);
  });
});

describe('the check of the page', () => {
  test.each([
    { name: 'is content with rules that are whole', tree: makeTree(), want: [] },
    {
      name: 'finds a part that is missing',
      tree: makeChanged(RULES_PAGE, '### Why\n\na\n\n', ''),
      want: ['rule 1 has the parts What it says, Code, Tests, The built-in'],
    },
    {
      name: 'finds a part that is empty',
      tree: makeChanged(RULES_PAGE, '### Tests\n\na\n\n', '### Tests\n\n'),
      want: ['rule 1 has the parts What it says, Why, Code, Tests (empty), The built-in'],
    },
    {
      name: 'is content with a number that is skipped',
      tree: makeChanged(RULES_PAGE, '## Rule 2: A', '## Rule 3: A'),
      want: [],
    },
    {
      name: 'finds a number that comes too late',
      tree: makeChanged(RULES_PAGE, '## Rule 2: A', '## Rule 1: A'),
      want: ['rule 1 stands behind rule 1'],
    },
  ])('$name', ({ tree: those, want }) => {
    expect(incompleteRules(those)).toEqual(want);
  });

  test.each([
    { name: 'is content with what is there', tree: makeTree(), want: [] },
    {
      name: 'finds a file that is gone',
      tree: makeTree({ [RULES_PAGE]: '`src/c.ts`' }),
      want: ['src/c.ts does not exist'],
    },
    {
      name: 'finds a link that leads nowhere',
      tree: makeTree({ [RULES_PAGE]: '[a](#a), [b](rules.md#b), [c](c.md#c)' }),
      want: ['the link to c.md leads nowhere'],
    },
    {
      name: 'finds a function that is called, but not defined in the file before it',
      tree: makeChanged(RULES_PAGE, '`decide()`', '`apply()`'),
      want: ['apply() is not in src/a.ts'],
    },
    {
      name: 'finds a name that is not in the file before it',
      tree: makeChanged(RULES_PAGE, '`LIMIT`', '`Look`'),
      want: ['Look is not in src/a.ts'],
    },
    {
      name: 'finds a name before any file',
      tree: makeChanged(RULES_PAGE, '- `src/a.ts`: `decide()`', '- `decide()`'),
      want: ['decide() is not in any file that is named', 'LIMIT is not in any file that is named'],
    },
    {
      name: 'finds a name that is said to be in a file, anywhere on the page',
      tree: makeChanged(RULES_PAGE, '`Look` in', '`Peek` in'),
      want: ['Peek is not in src/b.ts'],
    },
    {
      name: 'finds a test that is called otherwise',
      tree: makeChanged(
        RULES_PAGE,
        '### Tests\n\na',
        '### Tests\n\n- `test/a.test.ts`: "a (rules\n  1 and 2)", "b".',
      ),
      want: ['no test is called "b" in test/a.test.ts'],
    },
  ])('$name', ({ tree: those, want }) => {
    expect(brokenReferences(those)).toEqual(want);
  });

  test.each([
    { name: 'is content with words that are defined', required: ['look', 'turn', 'wave'], want: [] },
    {
      name: 'finds a word that is not defined',
      required: ['look', 'fence'],
      want: ['"fence" is not defined'],
    },
    {
      name: 'finds a word that is defined twice',
      tree: makeChanged(RULES_PAGE, '**wave**', '**look**'),
      required: ['turn'],
      want: ['"look" is defined twice'],
    },
  ])('$name', ({ tree: those = makeTree(), required, want }) => {
    expect(incompleteGlossary(those, required)).toEqual(want);
  });
});

describe('docs/rules.md', () => {
  test('has a heading for every rule that is cited, and every rule is cited in src/ and test/', () => {
    expect([...unknownCitations(tree), ...uncitedRules(tree)]).toEqual([]);
  });

  test('has its rules in order, each with all its parts', () => {
    expect(incompleteRules(tree)).toEqual([]);
    expect(page.match(/^## Rule \d+: /gm)?.length).toBeGreaterThan(13);
  });

  test('refers to files, functions and tests that there are', () => {
    expect(brokenReferences(tree)).toEqual([]);
  });

  test('defines the words of this project’s own', () => {
    expect(incompleteGlossary(tree, OWN_WORDS.split(', '))).toEqual([]);
    expect(glossaryWords(page).length).toBeGreaterThan(OWN_WORDS.split(', ').length);
  });

  test('has the defaults of settings as the code has them', () => {
    const written = [...page.matchAll(/^\| `\w+` \| `--(?:no-)?([\w-]+)` \| `(\w+)` \|/gm)].map(
      ([, flag, value]) => ({ flag, value }),
    );
    const flags = Object.values(runSettings.settings).map(({ flag, default: value }) => ({ flag, value }));
    expect(written.length).toBeGreaterThan(0);
    expect(flags).toEqual(expect.arrayContaining(written));
  });
});
