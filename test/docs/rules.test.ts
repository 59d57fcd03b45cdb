import { describe, expect, test } from 'vitest';
import { runSettings } from '../../src/settings/run-settings.ts';
import {
  brokenReferences,
  glossaryWords,
  incompleteGlossary,
  incompleteRules,
  LISTS_PAGE,
  RULES_PAGE,
  readTree,
  uncitedRules,
  unknownCitations,
} from './rules-doc.ts';

const root = new URL('../../', import.meta.url).pathname;
const tree = readTree(root);
const page = tree.get(RULES_PAGE) ?? '';
const lists = tree.get(LISTS_PAGE) ?? '';

/** Words of this project's own that a stranger meets in code, documents or metrics. */
const OWN_WORDS =
  'standing, tenure, outcome, verdict, decision, election result, strategy resolution, reason, reconcile, turn, survey, grant, ' +
  'take up, yield, release, withdraw, lapse, reserve, expire, collect, revise, ping, ack, idle, fresh, unresponsive, vacant, ' +
  'held, doubt, holder, candidate, preference, provisional';

describe('docs/concepts/rules.md', () => {
  test('has a heading for every rule that is cited, and every rule is cited in src/ and test/', () => {
    expect([...unknownCitations(tree), ...uncitedRules(tree)]).toEqual([]);
  });

  test('has its rules in order, each with all its parts, as does the page of lists', () => {
    expect(incompleteRules(tree)).toEqual([]);
    for (const each of [page, lists]) expect(each.match(/^## Rule \d+: /gm)?.length).toBeGreaterThan(13);
  });

  test('refers to files, functions and tests that there are', () => {
    expect(brokenReferences(tree)).toEqual([]);
  });

  test('defines the words of this project’s own', () => {
    expect(incompleteGlossary(tree, OWN_WORDS.split(', '))).toEqual([]);
    expect(glossaryWords(tree).length).toBeGreaterThan(OWN_WORDS.split(', ').length);
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
