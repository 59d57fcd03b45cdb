import { describe, expect, test } from 'vitest';
import { createResources } from '../../../src/apiserver/kinds/registry.ts';
import type { FieldSchema, StructSchema, TypeSchema } from '../../../src/apiserver/schema/schema.ts';
import {
  CUSTOM_API_VERSION,
  type ServedCandidates,
  servedCandidates,
} from '../../../src/coordination/candidate-sources.ts';

const served = (...leaseCandidateVersions: ServedCandidates[]) =>
  createResources({ leaseCandidateVersions }).map(
    ({ group, resource, versions }) =>
      `${resource}.${group} ${versions.map(({ version }) => version).join(',')}`,
  );

describe('the registry', () => {
  const always = ['namespaces. v1', 'events. v1', 'leases.coordination.k8s.io v1'];
  test.each<[string, ServedCandidates[], string[]]>([
    ['without LeaseCandidates', [], []],
    ['with one version of them', ['v1beta1'], ['leasecandidates.coordination.k8s.io v1beta1']],
    [
      'with several, in the order given',
      ['v1alpha1', 'v1beta1'],
      ['leasecandidates.coordination.k8s.io v1alpha1,v1beta1'],
    ],
    [
      "with those of this project's group alone",
      [CUSTOM_API_VERSION],
      ['leasecandidates.coordinated-leader-election.dev v1alpha1'],
    ],
    [
      'with those of both groups',
      ['v1beta1', CUSTOM_API_VERSION],
      [
        'leasecandidates.coordination.k8s.io v1beta1',
        'leasecandidates.coordinated-leader-election.dev v1alpha1',
      ],
    ],
  ])('%s', (_, versions, want) => {
    expect(served(...versions)).toEqual([...always, ...want]);
  });
});

describe('every field of every version', () => {
  const versions = createResources({ leaseCandidateVersions: servedCandidates }).flatMap(
    (definition) => definition.versions,
  );
  const fields = new Map<string, FieldSchema>();
  const structs = new Map<string, StructSchema>();
  const visit = (type: TypeSchema): void => {
    if (type.kind === 'list') visit(type.items);
    if (type.kind !== 'struct') return;
    structs.set(type.model, type);
    for (const [name, field] of Object.entries(type.fields)) {
      fields.set(`${type.model} ${name}`, field);
      visit(field.type);
    }
  };
  for (const { schema } of versions) visit(schema);

  test('is described, and every struct too', () => {
    expect(fields.size).toBeGreaterThan(100);
    const described = [...fields.values(), ...structs.values()].map(({ description }) => description);
    expect(described.filter((text) => !/^[A-Z].*\.$/.test(text))).toEqual([]);
  });

  test('writes every struct by value, even if it is unset', () => {
    const wrong = [...fields].filter(([, { type, zero }]) => type.kind === 'struct' && zero === 'omit');
    expect(wrong).toEqual([]);
  });

  test('has a separate model for each struct', () => {
    expect([...structs].filter(([model, { name }]) => !model.endsWith(`.${name}`))).toEqual([]);
  });
});
