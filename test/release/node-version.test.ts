import { readFile } from 'node:fs/promises';
import { satisfies, validRange } from 'semver';
import { describe, expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFile(new URL(path, root), 'utf8');

describe('the Node that everything runs on', () => {
  const { node } = manifest.devDependencies;

  test('is one that the package says it runs on', () => {
    expect(validRange(manifest.engines.node)).not.toBeNull();
    expect(satisfies(node, manifest.engines.node)).toBe(true);
  });

  test('is the one that version managers are told to use', async () => {
    expect((await read('.nvmrc')).trim()).toBe(node);
  });

  test.each(['Dockerfile', '.github/workflows/ci.yml'])(
    'has the major version of the images in %s',
    async (path) => {
      const images = [...(await read(path)).matchAll(/\bnode:(\d+)/g)].map(([, major]) => major);
      expect(new Set(images)).toEqual(new Set([node.split('.')[0]]));
    },
  );
});
