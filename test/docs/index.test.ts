import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, matchesGlob, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { repositoryFiles, repositoryRoot } from '../support/repository-files.ts';
import { anchorsIn, linksIn } from './markdown.ts';

const pages = repositoryFiles('*.md');

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');

/** Where the links of a page lead that stay in this repository: paths from its root, with their anchors. */
function linksWithin(page: string) {
  return linksIn(read(page))
    .filter(({ target }) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
    .map(({ target, line }) => {
      const [path = '', anchor] = target.split('#', 2).map(decodeURIComponent);
      const file = path === '' ? page : normalize(join(dirname(page), path)).replace(/\/$/, '');
      return { target, line, file, anchor };
    });
}

function leadsSomewhere({
  file,
  anchor,
}: {
  readonly file: string;
  readonly anchor: string | undefined;
}): boolean {
  if (file.startsWith('..') || !existsSync(join(repositoryRoot, file))) return false;
  if (anchor === undefined) return true;
  return file.endsWith('.md') ? anchorsIn(read(file)).has(anchor) : /^L\d+(?:-L\d+)?$/.test(anchor);
}

describe('links in Markdown files lead somewhere', () => {
  test.each(pages)('%s', (page) => {
    const broken = linksWithin(page).filter((link) => !leadsSomewhere(link));
    expect(broken.map(({ target, line }) => `${page}:${line}: ${target}`)).toEqual([]);
  });

  test('also those that name this repository by its address', () => {
    const address = manifest.repository.url.replace(/^git\+|\.git$/g, '');
    const files = [...pages, ...repositoryFiles('.github')];
    const named = files.flatMap((file) =>
      [...read(file).matchAll(/https:\/\/[^\s)>\]'"]+\/(?:blob|tree)\/main\/([^\s)>\]'"#]+)/g)]
        .filter(([whole]) => whole.startsWith(`${address}/`))
        .map(([, path = '']) => ({ file, path })),
    );
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ path }) => !existsSync(join(repositoryRoot, path)))).toEqual([]);
  });
});

test('the places that CONTRIBUTING.md names are there', () => {
  const folders = /^(?:\.ci|\.github|bench|charts|deploy|docs|lint|monitoring|release|src|test)\//;
  const named = [...read('CONTRIBUTING.md').matchAll(/`([^`\s<>]+)`/g)].map(([, name = '']) => name);
  const places = named.filter((name) => folders.test(name));
  const files = repositoryFiles();
  const isThere = (place: string) => files.some((file) => matchesGlob(file, place.replace(/\/$/, '/**')));
  expect(places.length).toBeGreaterThan(40);
  expect(places.filter((place) => !isThere(place))).toEqual([]);
});

test('the files that comments in examples name are there', () => {
  const named = repositoryFiles('examples/*.yaml').flatMap((file) =>
    [...read(file).matchAll(/^ *#.*$/gm)].flatMap(([comment]) =>
      [...comment.matchAll(/[\w./-]+\.(?:md|py|sh|ts|yaml)\b/g)].map(([name]) => ({ file, name })),
    ),
  );
  const isThere = ({ file, name }: { readonly file: string; readonly name: string }) =>
    [dirname(file), '.'].some((folder) => existsSync(join(repositoryRoot, folder, name)));
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((each) => !isThere(each))).toEqual([]);
});

describe('each page is found from the index of its folder', () => {
  test.each(['docs', 'docs/adopt', 'docs/adr', 'docs/runbooks'])('%s', (folder) => {
    const index = `${folder}/README.md`;
    const linked = new Set(linksWithin(index).map(({ file }) => file));
    const below = pages.filter((page) => page.startsWith(`${folder}/`) && page !== index);
    // A folder with an index of its own is found by that.
    const hasIndex = (page: string) => pages.includes(`${dirname(page)}/README.md`);
    const wanted = below.filter(
      (page) => dirname(page) === folder || page.endsWith('/README.md') || !hasIndex(page),
    );
    expect(wanted.length).toBeGreaterThan(5);
    expect(wanted.filter((page) => !linked.has(page))).toEqual([]);
  });

  test('and that of all documentation from the README', () => {
    expect(linksWithin('README.md').map(({ file }) => file)).toContain('docs/README.md');
  });

  test('and each picture from a page', () => {
    const linked = new Set(pages.flatMap((page) => linksWithin(page).map(({ file }) => file)));
    expect(repositoryFiles('docs/images').filter((picture) => !linked.has(picture))).toEqual([]);
  });
});

test('the index of ADRs has each number once, in order', () => {
  const rows = [...read('docs/adr/README.md').matchAll(/^\| \[(\d+)\]\((\d+)-/gm)];
  const numbers = rows.map(([, shown]) => Number(shown));
  expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => a - b));
  expect(rows.map(([, , file]) => Number(file))).toEqual(numbers);
});
