import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { blocksIn } from '../support/command-blocks.ts';
import { repositoryRoot } from '../support/repository-files.ts';

const read = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8');
const values: unknown = parse(read('charts/coordinated-leader-election/values.yaml'));

/** The blocks of YAML that are no object of a cluster. */
const shown = ['install', 'providers', 'size'].flatMap((page) =>
  blocksIn(read(`docs/how-to/${page}.md`))
    .filter(({ language }) => language === 'yaml')
    .map(({ text, line }) => ({ place: `${page}.md:${line}`, block: parse(text) as object }))
    .filter(({ block }) => !('apiVersion' in block)),
);

test('the guides of the installation show only values that the chart has', () => {
  expect(shown.length).toBeGreaterThan(2);
  const unknown = shown.flatMap(({ place, block }) =>
    unknownPaths(block, values).map((path) => `${place}: ${path}`),
  );
  expect(unknown).toEqual([]);
});

/** Returns the paths of all fields that `known` does not have. */
function unknownPaths(block: unknown, known: unknown, path = ''): readonly string[] {
  if (typeof block !== 'object' || block === null || Array.isArray(block)) return [];
  return Object.entries(block).flatMap(([name, inner]) => {
    const fields = known as Readonly<Record<string, unknown>> | undefined;
    return fields !== undefined && Object.hasOwn(fields, name)
      ? unknownPaths(inner, fields[name], `${path}.${name}`)
      : [`${path}.${name}`];
  });
}
