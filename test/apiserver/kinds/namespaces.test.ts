import { describe, expect, test } from 'vitest';
import { finalizedNamespaces, namespaces } from '../../../src/apiserver/kinds/namespaces.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import { linesOf, makeObject, versionOf } from './make.ts';

const v1 = versionOf(namespaces, 'v1');
const make = (fields: JsonObject = {}, metadata: JsonObject = {}) =>
  makeObject('v1', 'Namespace', fields, metadata);

describe('a new Namespace', () => {
  test('is active, finalized by whoever empties it, and labelled with its name', () => {
    const given = make(
      { status: { phase: 'Terminating', conditions: [{ type: 'x' }] } },
      { labels: { z: '1', a: '2' } },
    );
    expect(namespaces.prepareForCreate(v1.toHub(given))).toStrictEqual({
      kind: 'Namespace',
      apiVersion: 'v1',
      metadata: { name: 'x', labels: { z: '1', a: '2', 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  test.each([
    ['other', ['a/b'], ['a/b', 'kubernetes']],
    ['the same', ['kubernetes', 'a/b'], ['kubernetes', 'a/b']],
  ])('keeps %s finalizers', (_, finalizers, want) => {
    expect(namespaces.prepareForCreate(make({ spec: { finalizers } }))['spec']).toEqual({ finalizers: want });
  });

  test('has no label as long as it has no name', () => {
    const { name: _, ...metadata } = v1.toHub(make({}, { name: '', generateName: 'a-' })).metadata;
    expect(metadata).toEqual({ generateName: 'a-' });
  });

  test('cannot have another label', () => {
    const hub = v1.toHub(make({}, { labels: { 'kubernetes.io/metadata.name': 'other' } }));
    expect(hub.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'x' });
  });
});

test('an update changes neither spec nor status, nor takes away the label', () => {
  const old = namespaces.prepareForCreate(make());
  const next = v1.toHub(make({ spec: { finalizers: [] }, status: { phase: 'x' } }, { labels: { a: 'b' } }));
  expect(namespaces.prepareForUpdate(next, old)).toEqual({
    ...old,
    metadata: { name: 'x', labels: { a: 'b', 'kubernetes.io/metadata.name': 'x' } },
  });
});

test('an update of its finalize subresource changes the spec, and not the status', () => {
  const old = namespaces.prepareForCreate(make({ spec: { finalizers: ['a/b'] } }));
  const next = v1.toHub(make({ spec: { finalizers: ['a/b'] }, status: { phase: 'x' } }));
  expect(finalizedNamespaces.prepareForUpdate(next, old)).toMatchObject({
    spec: { finalizers: ['a/b'] },
    status: { phase: 'Active' },
  });
});

test('a Namespace is created by POST only, may be replaced from an unknown state, and is in none itself', () => {
  expect(namespaces).toMatchObject({
    createsOnUpdate: false,
    updatesUnconditionally: true,
    isNamespaced: false,
  });
  expect(namespaces.nameProblems('a.b')).toEqual([
    "must consist of lower case letters, digits and '-', and start and end with a letter or digit",
  ]);
});

test('finalizers without a domain have to be known', () => {
  const standard = 'name is neither a standard finalizer name nor is it fully qualified';
  const given = make(
    { spec: { finalizers: ['x', 'kubernetes', 'a/b', 'A b'] } },
    { finalizers: ['orphan', 'y'] },
  );
  expect(linesOf(namespaces.validate(given))).toEqual([
    `metadata.finalizers[1]: Invalid value: "y": ${standard}`,
    `spec.finalizers: Invalid value: "x": ${standard}`,
    "spec.finalizers: Invalid value: \"A b\": must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit",
    `spec.finalizers: Invalid value: "A b": ${standard}`,
  ]);
  expect(namespaces.validate(namespaces.prepareForCreate(make()))).toEqual([]);
});

test('a Namespace can be selected by its name and phase', () => {
  expect(v1.selectableFields(namespaces.prepareForCreate(make()))).toEqual({
    'metadata.name': 'x',
    'status.phase': 'Active',
  });
});

test('a Namespace is printed with its phase and its age', () => {
  const namespace = namespaces.prepareForCreate(make({}, { creationTimestamp: '2024-01-01T00:00:00Z' }));
  const now = Date.UTC(2024, 0, 3) / 1000;
  expect(v1.columns.map(({ name, cell }) => [name, cell(namespace, now)])).toEqual([
    ['Status', 'Active'],
    ['Age', '2d'],
  ]);
});
