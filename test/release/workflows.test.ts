import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { repositoryFiles, repositoryRoot } from '../support/repository-files.ts';

const uses = repositoryFiles()
  .filter((path) => path.startsWith('.github/workflows/'))
  .flatMap((path) =>
    [...readFileSync(join(repositoryRoot, path), 'utf8').matchAll(/\buses: (\S+)(.*)$/gm)].map(
      ([, action = '', comment = '']) => ({ path, action, comment: comment.trim() }),
    ),
  )
  .filter(({ action }) => !action.startsWith('./'));

test('workflows name each action by its commit, and its version in a comment', () => {
  expect(uses.length).toBeGreaterThan(10);
  const others = uses.filter(
    ({ action, comment }) => !/@[0-9a-f]{40}$/.test(action) || !/^# v\d+\.\d+\.\d+$/.test(comment),
  );
  expect(others).toEqual([]);
});

test('workflows use one commit of each action', () => {
  const repositories = uses.map(({ action }) => action.replace(/^([^/]+\/[^/@]+)[^@]*@/, '$1@'));
  const commits = Map.groupBy(new Set(repositories), (action) => action.split('@')[0]);
  expect([...commits.values()].filter(({ length }) => length > 1)).toEqual([]);
});
