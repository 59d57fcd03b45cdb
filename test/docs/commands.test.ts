import { expect, test } from 'vitest';
import { isNotRun } from '../e2e/guide-steps.ts';
import { stepsOf, stepsOnAnyCluster, stepsWithGate } from '../e2e/operations-steps.ts';
import { repositoryFiles } from '../support/repository-files.ts';

const followed = [...stepsOnAnyCluster, ...stepsWithGate];

test('all commands of the tutorials and how-to guides are followed by test/e2e/operations.e2e.test.ts', () => {
  const places = new Set(followed.map(({ page, line }) => `${page}:${line}`));
  const steps = repositoryFiles('docs/how-to/*.md', 'docs/tutorials/*.md')
    .map((path) => path.replace(/^docs\//, ''))
    // test/e2e/examples.e2e.test.ts follows it.
    .filter((page) => page !== 'tutorials/four-programs.md')
    .flatMap((page) => stepsOf(page));
  expect(places.size).toBeGreaterThan(50);
  expect(steps.map(({ page, line }) => `${page}:${line}`).filter((place) => !places.has(place))).toEqual([]);
});

test('the test runs all of them, except those that need a container engine or an exec', () => {
  expect(followed.filter(isNotRun).map(({ heading }) => heading)).toEqual([
    'Before you begin',
    'On kind',
    'Begin here',
  ]);
});
