import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { customCandidates as define } from '../../../src/apiserver/kinds/custom-candidates.ts';
import { decodeObject } from '../../../src/apiserver/schema/decode.ts';
import type { StructSchema } from '../../../src/apiserver/schema/schema.ts';
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

describe('LeaseCandidates of our own group match their custom resource definition', () => {
  test('in their names', () => {
    const { group, resource: plural, singular, kind, shortNames, categories } = customCandidates;
    const names = { kind, listKind: `${kind}List`, plural, singular, shortNames, categories };
    expect({ group, names, versions: [version.version] }).toEqual({
      group: definition.group,
      names: definition.names,
      versions: [installed?.name],
    });
  });

  test('in their columns and selectable fields', () => {
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

  test('in their validation rules', () => {
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
