import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { runSettings } from '../../src/settings/run-settings.ts';
import { rowsOf } from '../../src/settings/settings-table.ts';
import { version } from '../../src/support/host.ts';
import { chartReadme } from './chart-readme.ts';
import type { JsonSchema } from './json-schema.ts';
import { valuesSchema } from './values-documentation.ts';

const folder = new URL('../../charts/coordinated-leader-election/', import.meta.url);
const valuesText = await readFile(new URL('values.yaml', folder), 'utf8');
const schema = JSON.parse(valuesSchema(valuesText)) as JsonSchema;

/** Every schema within a schema, including itself, with its path. */
function* schemasIn(part: JsonSchema, path = '$'): Generator<readonly [string, JsonSchema]> {
  yield [path, part];
  const { properties = {}, $defs = {}, anyOf = [], items, additionalProperties } = part;
  for (const [name, each] of Object.entries(properties)) yield* schemasIn(each, `${path}.${name}`);
  for (const [name, each] of Object.entries($defs)) yield* schemasIn(each, name);
  for (const [at, each] of anyOf.entries()) yield* schemasIn(each, `${path}[${at}]`);
  if (items) yield* schemasIn(items, `${path}[]`);
  if (typeof additionalProperties === 'object') yield* schemasIn(additionalProperties, `${path}.*`);
}

describe("the chart's generated files", () => {
  test('values.schema.json matches the comments of values.yaml', async () => {
    await expect(valuesSchema(valuesText)).toMatchFileSnapshot(
      new URL('values.schema.json', folder).pathname,
    );
  });

  test('README.md matches the comments of values.yaml', async () => {
    await expect(chartReadme(valuesText)).toMatchFileSnapshot(new URL('README.md', folder).pathname);
  });

  test('deploy/crd.yaml defines the chart’s LeaseCandidates', async () => {
    const text = await readFile(new URL('files/crd.yaml', folder), 'utf8');
    const origin =
      '# Generated from charts/coordinated-leader-election/files/crd.yaml; a test compares them.\n';
    await expect(origin + text.slice(text.indexOf('apiVersion:'))).toMatchFileSnapshot(
      new URL('../../deploy/crd.yaml', import.meta.url).pathname,
    );
  });
});

describe('values.yaml', () => {
  test('links alerts to the runbooks of this version, in the repository', async () => {
    const { appVersion } = parse(await readFile(new URL('Chart.yaml', folder), 'utf8')) as {
      appVersion: string;
    };
    const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '');
    expect(parse(valuesText)).toMatchObject({
      runbookBaseUrl: `${repository}/blob/v${appVersion}/docs/runbooks`,
    });
  });

  test('has the memory limit of SECURITY.md', async () => {
    const page = await readFile(new URL('../../SECURITY.md', import.meta.url), 'utf8');
    const [, limit = ''] = /sets a memory limit of (\d+) MiB/.exec(page) ?? [];
    expect(parse(valuesText)).toMatchObject({ resources: { limits: { memory: `${limit}Mi` } } });
  });
});

describe('values.schema.json', () => {
  test.each([
    {
      name: 'electionDuration',
      parse: runSettings.settings.electionDurationMs.parse,
      longest: ['5m', '300s'],
    },
    {
      name: 'leaseDuration',
      parse: runSettings.settings.leaseDurationSeconds.parse,
      longest: ['1h', '3600s'],
    },
    { name: 'settleTime', parse: runSettings.settings.settleMs.parse, longest: ['0s', '60s', '1m'] },
    { name: 'candidateValidity', parse: runSettings.settings.candidateValidityMs.parse, longest: ['168h'] },
    { name: 'candidateGcAfter', parse: runSettings.settings.candidateGcAfterMs.parse, longest: ['720h'] },
  ])(
    'allows no $name that the program refuses, up to the longest allowed one',
    ({ name, parse, longest }) => {
      const { pattern = '' } = schema.properties?.['config']?.properties?.[name] ?? {};
      expect(pattern).not.toBe('');
      fc.assert(
        fc.property(fc.stringMatching(new RegExp(pattern)), (text) => {
          expect(parse(text)).toHaveProperty('value');
        }),
      );
      for (const text of longest) expect(text).toMatch(new RegExp(pattern));
    },
  );

  test('refuses unknown keys, except in objects with Kubernetes’ own fields', () => {
    const open = [...schemasIn(schema)].filter(
      ([, { type, additionalProperties }]) =>
        type === 'object' && typeof additionalProperties !== 'object' && additionalProperties !== false,
    );
    expect(open.map(([path]) => path)).toEqual([
      '$.global',
      'topologySpreadConstraint.labelSelector',
      'affinity.nodeAffinity',
      'affinity.podAffinity',
      'affinity.podAntiAffinity',
      'volume[3].csi',
      'volume[4].projected',
      'volume[5].downwardAPI',
      'volume[6].ephemeral',
      'volume[7].persistentVolumeClaim',
      'networkPolicyPeer[0].namespaceSelector',
      'networkPolicyPeer[0].podSelector',
      'networkPolicyPeer[1].podSelector',
    ]);
  });

  test('has no undefined references', () => {
    const known = Object.keys(schema.$defs ?? {}).map((name) => `#/$defs/${name}`);
    const used = [...schemasIn(schema)].flatMap(([, { $ref }]) => $ref ?? []);
    expect([...new Set(used)].filter((each) => !known.includes(each))).toEqual([]);
    expect(known.filter((each) => !used.includes(each))).toEqual([]);
  });
});

describe('the chart', () => {
  test("has the program's version", async () => {
    const chart = parse(await readFile(new URL('Chart.yaml', folder), 'utf8'));
    expect(chart).toMatchObject({ appVersion: version, version });
  });

  test("has a value for each setting that a pod can use, with the program's default", () => {
    // In a pod, the program uses the pod's own cluster.
    const elsewhere = ['kubeconfig', 'context', 'namespaces', 'listen'];
    // A separate value, because it also grants permissions.
    const ofItsOwn = ['isCrashEvidenceUsed'];
    const { config } = parse(valuesText) as { readonly config: Readonly<Record<string, unknown>> };
    const defaults = rowsOf(runSettings)
      .filter(([key]) => ![...elsewhere, ...ofItsOwn].includes(key))
      .map(([, { flag, default: fallback }]) => [camelCase(flag), fallback]);
    const inChart = Object.entries(config).map(([name, value]) => [name, String(value)]);
    expect(Object.fromEntries(inChart)).toEqual(Object.fromEntries(defaults));
  });
});

function camelCase(flag: string): string {
  return flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}
