import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { krewManifest } from '../../release/assets/krew-manifest.ts';
import {
  installManifest,
  type Publication,
  publishedChartFile,
} from '../../release/assets/published-chart.ts';
import { repositoryRoot } from '../support/repository-files.ts';

const publication: Publication = {
  version: manifest.version,
  repository: 'https://example.com/o/n',
  image: 'registry.example/o/n',
  digest: `sha256:${'a'.repeat(64)}`,
  charts: 'oci://registry.example/o/charts',
};

function chartFile(path: string) {
  const file = join(repositoryRoot, 'charts/coordinated-leader-election', path);
  return { path, text: readFileSync(file, 'utf8') };
}

describe('the chart as it is published', () => {
  test('differs from the one of the repository in the image alone, for its values', () => {
    const file = chartFile('values.yaml');
    const { image, ...others } = parse(publishedChartFile(file, publication)) as Record<string, unknown>;
    const { image: former, ...formerOthers } = parse(file.text) as Record<string, unknown>;
    const { image: repository, digest } = publication;
    expect(image).toEqual({ ...(former as object), repository, digest });
    expect(others).toEqual(formerOthers);
  });

  test('has a README whose links lead to the files of its version', () => {
    const text = publishedChartFile(chartFile('README.md'), publication);
    expect(text).toContain(`](https://example.com/o/n/blob/v${manifest.version}/docs/how-to/upgrade.md)`);
    expect(text).not.toContain('](../');
  });

  test('has all other files as they are', () => {
    const file = chartFile('Chart.yaml');
    expect(publishedChartFile(file, publication)).toBe(file.text);
  });

  test.each([
    {
      name: 'values',
      make: () => publishedChartFile({ path: 'values.yaml', text: 'image:\n' }, publication),
    },
    { name: 'README', make: () => publishedChartFile({ path: 'README.md', text: '' }, publication) },
    { name: 'manifest', make: () => installManifest('kind: Deployment\n', publication) },
  ])('is not made from a $name that has nothing to replace', ({ make }) => {
    expect(make).toThrow('not found, so it cannot be replaced');
  });
});

test('the manifest for krew names each archive with its checksum', () => {
  const release = { ...publication, downloads: 'https://example.com/downloads' };
  const archive = { platform: 'darwin-arm64', file: 'a.tar.gz', sha256: 'b'.repeat(64) };
  const { spec } = parse(krewManifest(release, [archive])) as { spec: Record<string, unknown> };
  expect(spec).toMatchObject({
    version: `v${manifest.version}`,
    platforms: [
      {
        selector: { matchLabels: { os: 'darwin', arch: 'arm64' } },
        uri: 'https://example.com/downloads/a.tar.gz',
        sha256: 'b'.repeat(64),
        bin: 'kubectl-cle',
      },
    ],
  });
});
