import { describe, expect, test } from 'vitest';
import { versionPlaces, withVersion } from '../../release/version-places.ts';

describe('a version is the one of this project', () => {
  test.each<{ name: string; path?: string; text: string; want: readonly string[] }>([
    {
      name: 'in the name of an image',
      text: 'r.example:5000/coordinated-leader-election:1.2.3 .',
      want: ['1.2.3'],
    },
    {
      name: 'in the label of the chart',
      text: 'helm.sh/chart: coordinated-leader-election-1.2.3',
      want: ['1.2.3'],
    },
    {
      name: 'in the name of a packaged chart',
      text: 'coordinated-leader-election-1.2.3.tgz',
      want: ['1.2.3'],
    },
    { name: 'before a release', text: 'coordinated-leader-election-1.2.3-rc.1.tgz', want: ['1.2.3-rc.1'] },
    { name: 'at the end of a sentence', text: 'It is coordinated-leader-election@1.2.3.', want: ['1.2.3'] },
    {
      name: 'beside the name of the chart',
      text: 'coordinated-leader-election-1.2.3\t1.2.4   \tdone',
      want: ['1.2.3', '1.2.4'],
    },
    { name: 'in a label of an object', text: '  app.kubernetes.io/version: 1.2.3', want: ['1.2.3'] },
    { name: 'in a quoted label', text: '  app.kubernetes.io/version: "1.2.3"', want: ['1.2.3'] },
    {
      name: 'beside the name of the package',
      path: 'package-lock.json',
      text: '"name": "coordinated-leader-election",\n      "version": "1.2.3",',
      want: ['1.2.3'],
    },
    {
      name: 'in the chart',
      path: 'charts/a/Chart.yaml',
      text: 'version: 1.2.3\nappVersion: "1.2.4"\nkubeVersion: ">=1.31.0-0"',
      want: ['1.2.3', '1.2.4'],
    },
    { name: 'in the Dockerfile', path: 'Dockerfile', text: 'ARG VERSION=1.2.3\n', want: ['1.2.3'] },
  ])('$name', ({ path = 'any/file.md', text, want }) => {
    const found = versionPlaces({ path, text }).map(({ version }) => version);
    expect(found.toSorted()).toEqual(want);
  });

  test.each<{ name: string; path?: string; text: string }>([
    { name: 'of another package', path: 'package-lock.json', text: '"name": "undici",\n "version": "1.2.3"' },
    { name: 'of a candidate', text: 'binaryVersion: 1.2.3' },
    { name: 'of something else that has one', path: 'values.yaml', text: 'version: 1.2.3' },
    { name: 'in the changelog', path: 'CHANGELOG.md', text: 'coordinated-leader-election:1.2.3' },
    { name: 'with metadata of a build', text: 'coordinated-leader-election-1.2.3+5b1c2d3' },
    { name: 'that is none', text: 'coordinated-leader-election:1.2' },
  ])('but not $name', ({ path = 'any/file.md', text }) => {
    expect(versionPlaces({ path, text })).toEqual([]);
  });

  test('and is told with its line', () => {
    const text = '\n\nimage: coordinated-leader-election:1.2.3';
    expect(versionPlaces({ path: 'a', text })).toEqual([{ path: 'a', line: 3, version: '1.2.3' }]);
  });
});

describe('another version', () => {
  test('takes the place of all that there are, and of nothing else', () => {
    const text = 'coordinated-leader-election-1.2.3\t1.2.3\n1.2.3 app.kubernetes.io/version: 1.2.3\n';
    expect(withVersion({ path: 'a', text }, '10.20.30-rc.1')).toBe(
      'coordinated-leader-election-10.20.30-rc.1\t10.20.30-rc.1\n1.2.3 app.kubernetes.io/version: 10.20.30-rc.1\n',
    );
  });
});
