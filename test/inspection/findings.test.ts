import { readdirSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { runbookPath, runbooks } from '../../src/inspection/findings.ts';
import { procedures } from '../support/procedures.ts';

const root = new URL('../../', import.meta.url).pathname;

const folder = `${root}docs/runbooks`;

const rulesPath = 'charts/coordinated-leader-election/files/alerts.yaml';

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function read(path: string): string {
  return readFileSync(resolve(root, path), 'utf8');
}

const rules = (parse(read(rulesPath)) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules: those }) => those,
);

/** The headings of a Markdown text, with their hashes. */
function titlesIn(markdown: string): readonly string[] {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '').match(/^#+ .+$/gm) ?? [];
}

/** The anchor of a heading. */
function anchorOf(title: string): string {
  return title
    .replace(/^#+ /, '')
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

function brokenLinksIn(path: string): readonly string[] {
  const links = [...read(path).matchAll(/\]\(([^)#]*)(?:#([^)]+))?\)/g)];
  return links.flatMap(([link, target = '', anchor]) => {
    const file = target === '' ? resolve(root, path) : resolve(root, dirname(path), target);
    try {
      const text = readFileSync(file, 'utf8');
      return anchor === undefined || titlesIn(text).map(anchorOf).includes(anchor) ? [] : [link];
    } catch {
      return [link];
    }
  });
}

const procedurePath = (name: string) => `docs/runbooks/${name}.md`;

const PARTS = ['## Meaning', '## Impact', '## Diagnosis', '## Mitigation'];

/** The headings of a runbook, its title first. */
function partsOf(path: string): readonly string[] {
  return titlesIn(read(path)).filter((title) => !title.startsWith('###'));
}

describe('the runbooks', () => {
  test('exist for each alert, which links to them', () => {
    const those = rules.map(({ alert }) => alert);
    expect(those.toSorted()).toEqual(runbooks.toSorted());
    for (const { alert, annotations } of rules) {
      expect(annotations['runbook_url']).toMatch(new RegExp(`(?:^|/)docs/runbooks/${alert}\\.md$`));
    }
  });

  test('are all files in their folder', () => {
    const files = [...runbooks, ...procedures].map((name) => `${name}.md`);
    expect(readdirSync(folder).toSorted()).toEqual(['README.md', ...files].toSorted());
  });

  test.each(runbooks)('have their four parts in order: %s', (name) => {
    expect(partsOf(runbookPath(name))).toEqual([`# ${name}`, ...PARTS]);
  });

  test.each(procedures)('have the same parts where no alert sends people to them: %s', (name) => {
    const [title = '', ...parts] = partsOf(procedurePath(name));
    expect(parts).toEqual(PARTS);
    const row = `| [${title.replace('# ', '')}](${name}.md) | `;
    expect(read('docs/runbooks/README.md')).toContain(row);
    expect(rules.map(({ alert }) => alert)).not.toContain(name);
  });

  test('are in their index with the severity of their alert', () => {
    const rows = read('docs/runbooks/README.md').matchAll(/^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|/gm);
    const listed = [...rows].map(([, name, file, severity]) => ({ name, file, severity }));
    const those = rules.map(({ alert, labels }) => ({
      name: alert,
      file: alert,
      severity: labels['severity'],
    }));
    expect(listed).toHaveLength(those.length);
    expect(listed).toEqual(expect.arrayContaining(those));
  });

  const paths = [...runbooks.map(runbookPath), ...procedures.map(procedurePath)];
  test.each([...paths, 'docs/runbooks/README.md'])('have links that lead somewhere: %s', (path) =>
    expect(brokenLinksIn(path)).toEqual([]),
  );
});
