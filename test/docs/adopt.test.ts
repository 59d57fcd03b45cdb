import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import * as clientNode from '@kubernetes/client-node';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { blocksIn } from '../support/command-blocks.ts';
import { repositoryFiles, repositoryRoot } from '../support/repository-files.ts';
import { anchorsIn, linksIn } from './markdown.ts';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const pages = repositoryFiles('docs/adopt/*.md');

/** The classes of the Kubernetes API, by their names. */
const models = clientNode as unknown as Record<
  string,
  { getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[] } | undefined
>;

const ownPages = ['kopf', 'java', 'node', 'unchanged-program'].map((name) => `docs/adopt/${name}.md`);

test.each(ownPages)('%s shows code and manifests as they are in the examples that it links', (page) => {
  const text = read(page);
  const examples = linksIn(text)
    .map(({ target }) => normalize(join('docs/adopt', target)))
    .filter((path) => path.startsWith('examples/'))
    .map(read);
  const shown = blocksIn(text).filter(({ language }) => !['sh', 'text'].includes(language));
  expect(shown.length).toBeGreaterThan(0);
  for (const block of shown) {
    const found = examples.some((example) => example.includes(block.text));
    expect(found, `line ${block.line}: ${block.text}`).toBe(true);
  }
});

test('figures in the pages are those of docs/reference/figures.md', () => {
  const sections = read('docs/reference/figures.md')
    .split(/^(?=## )/m)
    .map((text) => ({ text, anchors: anchorsIn(text) }));
  const named = pages.flatMap((page) =>
    [...read(page).matchAll(/\[([^\]]*\d[^\]]*)\]\(\.\.\/reference\/figures\.md#([\w-]+)\)/g)].map(
      ([, figure = '', anchor = '']) => ({ page, figure, anchor }),
    ),
  );
  expect(named.length).toBeGreaterThan(10);
  const unknown = named.filter(
    ({ figure, anchor }) =>
      !sections.some(({ text, anchors }) => anchors.has(anchor) && text.includes(figure)),
  );
  expect(unknown).toEqual([]);
});

test('the CronJob of docs/adopt/jobs.md has known fields only', () => {
  const manifest = blocksIn(read('docs/adopt/jobs.md')).find(({ language }) => language === 'yaml');
  const { apiVersion, kind, ...job } = parse(manifest?.text ?? '') as Record<string, unknown>;
  expect([apiVersion, kind]).toEqual(['batch/v1', 'CronJob']);
  expect(job['spec']).toMatchObject({ concurrencyPolicy: 'Forbid' });
  expect(unknownFields(job, 'V1CronJob')).toEqual([]);
});

/** Returns the paths of all fields that the Kubernetes API does not have. */
function unknownFields(value: unknown, type: string): readonly string[] {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return (value as unknown[]).flatMap((item) => unknownFields(item, list));
  const model = models[type];
  if (model === undefined) return [];
  const attributes = model.getAttributeTypeMap();
  return Object.entries(value as object).flatMap(([field, inner]) => {
    const attribute = attributes.find(({ baseName }) => baseName === field);
    return attribute === undefined
      ? [field]
      : unknownFields(inner, attribute.type).map((below) => `${field}.${below}`);
  });
}
