import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { customCandidates as define } from '../../../src/apiserver/kinds/custom-candidates.ts';
import { decodeObject } from '../../../src/apiserver/schema/decode.ts';
import type { StructSchema } from '../../../src/apiserver/schema/schema.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { linesOf, makeObject, versionOf } from './make.ts';

interface Property {
  readonly description: string;
  readonly type: string;
  readonly format?: string;
  readonly default?: string;
  readonly maxLength?: number;
  readonly required?: readonly string[];
  readonly properties: Readonly<Record<string, Property>>;
  readonly 'x-kubernetes-validations'?: readonly { readonly message: string }[];
}

interface Definition {
  readonly group: string;
  readonly scope: string;
  readonly names: object;
  readonly versions: readonly {
    readonly name: string;
    readonly selectableFields: readonly { readonly jsonPath: string }[];
    readonly additionalPrinterColumns: readonly object[];
    readonly schema: { readonly openAPIV3Schema: Property };
  }[];
}

const text = await readFile(new URL('../../../deploy/crd.yaml', import.meta.url), 'utf8');
const definition = (parse(text) as { readonly spec: Definition }).spec;
const [installed] = definition.versions;
const root = installed?.schema.openAPIV3Schema as Property;
const customCandidates = define();
const version = versionOf(customCandidates, 'v1alpha1');

const make = (spec: unknown, metadata = {}) =>
  makeObject(
    'coordinated-leader-election.dev/v1alpha1',
    'LeaseCandidate',
    { spec },
    { namespace: 'n', ...metadata },
  );
const read = (spec: unknown, metadata = {}) =>
  version.toHub(decodeObject(version.schema, make(spec, metadata)).value as ReturnType<typeof make>);
const check = (spec: unknown, old?: unknown) =>
  linesOf(customCandidates.validate(read(spec), old === undefined ? undefined : read(old)));

describe('LeaseCandidates of our own group are as their custom resource definition has them', () => {
  test('in their names', () => {
    const { group, resource: plural, singular, kind, shortNames, categories } = customCandidates;
    const names = { kind, listKind: `${kind}List`, plural, singular, shortNames, categories };
    expect({ group, names, versions: [version.version] }).toEqual({
      group: definition.group,
      names: definition.names,
      versions: [installed?.name],
    });
  });

  test('in what is shown of them, and what they are selected by', () => {
    expect(version.columns.map(({ name, type, description }) => ({ name, type, description }))).toEqual(
      installed?.additionalPrinterColumns.map((column) => {
        const { jsonPath: _, ...shown } = column as Readonly<Record<string, unknown>>;
        return shown;
      }),
    );
    const selectable = Object.keys(version.selectableFields(make({})));
    expect(selectable.slice(2)).toEqual(installed?.selectableFields.map(({ jsonPath }) => jsonPath.slice(1)));
  });

  test('in their fields', () => {
    const described = ({ fields }: StructSchema) =>
      Object.fromEntries(
        Object.entries(fields)
          .filter(([name]) => name !== 'metadata')
          .map(([name, { type, description, default: fallback, maxLength, isRequired }]) => [
            name,
            { type: type.kind, description, fallback, maxLength, isRequired },
          ]),
      );
    const defined = ({ properties, required }: Property) =>
      Object.fromEntries(
        Object.entries(properties).map(
          ([name, { type, format, description, default: fallback, maxLength }]) => [
            name,
            {
              type: format ?? (type === 'object' ? 'struct' : type),
              description,
              fallback,
              maxLength,
              isRequired: required?.includes(name) || undefined,
            },
          ],
        ),
      );
    expect(version.schema.description).toBe(root.description);
    expect(described(version.schema)).toEqual(defined(root));
    expect(described(version.schema.fields['spec']?.type as StructSchema)).toEqual(
      defined(root.properties['spec'] as Property),
    );
  });

  test('in what their rules say', () => {
    const spec = root.properties['spec'] as Property;
    const messages = [spec, ...Object.values(spec.properties)].flatMap((property) =>
      (property['x-kubernetes-validations'] ?? []).map(({ message }) => message),
    );
    const odd = {
      leaseName: 'B',
      binaryVersion: 'x',
      emulationVersion: 'x',
      strategy: 'x',
      priority: 2 ** 31,
    };
    const said = [
      ...check({ ...odd, renewTime: 'x', pingTime: 'x' }, { leaseName: 'a' }),
      ...check({ leaseName: 'a', emulationVersion: '1.0.0' }),
      ...check({ leaseName: 'a', binaryVersion: '1.0.0', emulationVersion: '0.0.0' }),
    ].join('\n');
    expect([...new Set(messages)].filter((message) => !said.includes(message))).toEqual([]);
    expect(new Set(messages).size).toBe(8);
  });
});

test('a LeaseCandidate of our own group is not created by PUT, and only ever replaced from a known state', () => {
  expect(customCandidates).toMatchObject({
    createsOnUpdate: false,
    updatesUnconditionally: false,
    isNamespaced: true,
  });
});

describe('the generation of a LeaseCandidate of our own group', () => {
  const made = customCandidates.prepareForCreate(read({ leaseName: 'a' }, { generation: 7 }));

  test('begins with 1, whatever was sent', () => {
    expect(made.metadata.generation).toBe(1);
  });

  test.each<[string, JsonObject, number]>([
    ['the same spec', { leaseName: 'a' }, 1],
    ['another spec', { leaseName: 'a', priority: 0 }, 2],
  ])('after an update with %s', (_, spec, want) => {
    const next = read(spec, { generation: 9, labels: { a: 'b' } });
    expect(customCandidates.prepareForUpdate(next, made).metadata.generation).toBe(want);
  });
});

describe('a LeaseCandidate of our own group', () => {
  const NOT_CHECKED = expect.stringContaining('<nil>: Invalid value: null: the rules were not checked');

  test.each<[string, unknown, readonly unknown[]]>([
    ['that has what it needs', { leaseName: 'a' }, []],
    ['without a spec', undefined, ['spec: Required value', NOT_CHECKED]],
    ['with a spec of another type', [], ['spec: Invalid value: array: must be of type object', NOT_CHECKED]],
    [
      'with a text of another type',
      { leaseName: 1.5 },
      ['spec.leaseName: Invalid value: number: must be of type string', NOT_CHECKED],
    ],
    [
      'with a text that is too long, counted in characters',
      { leaseName: 'a', strategy: '\u{1F600}'.repeat(318) },
      ['spec.strategy: Too long: may not be more than 317 bytes', NOT_CHECKED],
    ],
    [
      'with a text that is not too long in characters, but no strategy',
      { leaseName: 'a', strategy: '\u{1F600}'.repeat(317) },
      [expect.stringContaining('set it to OldestEmulationVersion')],
    ],
    [
      'with half a priority',
      { leaseName: 'a', priority: 0.5 },
      [
        'spec.priority: Invalid value: number: must be of type integer',
        '<nil>: Invalid value: 0.5: spec.priority must be a whole number of 32 bits',
        NOT_CHECKED,
      ],
    ],
    [
      'with a priority that is no number',
      { leaseName: 'a', priority: true },
      ['spec.priority: Invalid value: boolean: must be of type integer', NOT_CHECKED],
    ],
    [
      'with a version of a number that JavaScript does not hold exactly',
      { leaseName: 'a', binaryVersion: '18446744073709551615.0.0' },
      [expect.stringContaining('no number of more than 15 digits')],
    ],
  ])('%s', (_, spec, want) => {
    expect(check(spec)).toEqual(want);
  });

  test('that is of another kind', () => {
    const lines = linesOf(customCandidates.validate({ ...read({ leaseName: 'a' }), kind: 'Lease' }));
    expect(lines).toEqual(['kind: Invalid value: "Lease": must be LeaseCandidate']);
  });
});

describe('a custom resource that is read', () => {
  const decode = (spec: unknown) => decodeObject(version.schema, make(spec, { other: 1 }));

  test('has defaults, nothing that is unknown, and no null', () => {
    const spec = { leaseName: 'a', strategy: null, renewTime: null, deep: { x: 1 }, pingTime: { y: 1 } };
    const { value, strictProblems } = decode(spec);
    expect(value['spec']).toEqual({
      binaryVersion: '0.0.0',
      leaseName: 'a',
      pingTime: {},
      strategy: 'OldestEmulationVersion',
    });
    expect(strictProblems).toEqual([
      'unknown field "metadata.other"',
      'unknown field "spec.deep"',
      'unknown field "spec.pingTime.y"',
    ]);
  });

  test('is read whatever the types of its fields are', () => {
    expect(decode('x').value['spec']).toBe('x');
    expect(decode({ leaseName: 1 }).value['spec']).toMatchObject({ leaseName: 1 });
  });

  test('has metadata of the types that all metadata is of', () => {
    expect(() => decodeObject(version.schema, make({}, { labels: { a: 1 } }))).toThrow(
      'metadata.labels.a: expected a string, found 1',
    );
  });
});
