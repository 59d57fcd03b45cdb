import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { valid } from 'semver';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { releasedVersions } from '../../release/changelog.ts';
import { type TextFile, versionPlaces, withVersion } from '../../release/version-places.ts';
import { repositoryFiles, repositoryRoot } from '../support/repository-files.ts';

const { version } = manifest;
const files: readonly TextFile[] = repositoryFiles().map((path) => ({
  path,
  text: readFileSync(join(repositoryRoot, path), 'utf8'),
}));
const places = files.flatMap((file) => versionPlaces(file));
const changelog = files.find(({ path }) => path === 'CHANGELOG.md')?.text ?? '';

describe('the version of package.json', () => {
  test('is one', () => {
    expect(valid(version)).toBe(version);
  });

  test('is named wherever the version of this project is', () => {
    expect(places.filter((place) => place.version !== version)).toEqual([]);
  });

  test.each([
    'package.json',
    'package-lock.json',
    'Dockerfile',
    'README.md',
    'charts/coordinated-leader-election/Chart.yaml',
    'clients/node/README.md',
    'clients/node/package.json',
    'charts/coordinated-leader-election/values.yaml',
    'deploy/monitoring/alerts.yaml',
    'deploy/base/deployment.yaml',
    'deploy/coordinator.yaml',
    'deploy/monitoring/prometheus-rule.yaml',
    'docs/how-to/install.md',
    'test/chart/rendered/everything.yaml',
  ])('is found in %s', (path) => {
    expect(places.map((place) => place.path)).toContain(path);
  });

  test('is that of the newest release in the changelog', () => {
    expect(releasedVersions(changelog)[0]).toBe(version);
  });

  test('can be changed in all places, and changed back', () => {
    for (const file of files) {
      const { path, text } = file;
      const changed = withVersion(file, '98.76.54-rc.1');
      const found = versionPlaces({ path, text: changed });
      expect(found).toEqual(versionPlaces(file).map((place) => ({ ...place, version: '98.76.54-rc.1' })));
      expect(withVersion({ path, text: changed }, version)).toBe(text);
    }
  });
});

describe('the changelog', () => {
  test('has a link for each release, and one for what is unreleased', () => {
    const linked = [...changelog.matchAll(/^\[([^\]]+)\]: (\S+)$/gm)].map(([, name]) => name);
    expect(linked).toEqual(['Unreleased', ...releasedVersions(changelog)]);
  });
});

test('each revision that a link of the changelog names is in the repository', (context) => {
  const git = (...args: readonly string[]) => {
    const { status, stdout } = spawnSync('git', args, { cwd: repositoryRoot, encoding: 'utf8' });
    return status === 0 ? stdout.trim() : undefined;
  };
  context.skip(git('rev-parse', '--is-shallow-repository') === 'true', 'the clone has no history');
  const links = [...changelog.matchAll(/^\[[^\]]+\]: \S+?\/(?:compare|tree|releases\/tag)\/(\S+)$/gm)];
  const revisions = links.flatMap(([, named = '']) => named.split('...'));
  expect(revisions.length).toBeGreaterThan(2);
  expect(revisions.filter((each) => git('rev-parse', '--verify', `${each}^{commit}`) === undefined)).toEqual(
    [],
  );
});

describe('the address of the repository in package.json', () => {
  const address = manifest.repository.url.replace(/^git\+|\.git$/g, '');

  test('is the one that everything else names', () => {
    const named = files
      .filter(({ path }) => !path.startsWith('test/release/'))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/https:\/\/[\w.-]+\/[\w.-]+\/coordinated-leader-election(?![\w-])/g)].map(
          ([found]) => ({ path, found }),
        ),
      );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter(({ found }) => found !== address)).toEqual([]);
  });
});
