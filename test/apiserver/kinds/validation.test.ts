import { describe, expect, test } from 'vitest';
import { dnsSubdomainName, validateMetadataOf } from '../../../src/apiserver/kinds/validation.ts';
import type { ApiObject, ManagedFieldsEntry, ObjectMeta } from '../../../src/apiserver/schema/api-object.ts';
import { linesOf } from './make.ts';

const definition = { isNamespaced: true, nameProblems: dnsSubdomainName };
const good: ObjectMeta = { name: 'x', namespace: 'default' };

const withMetadata = (metadata: ObjectMeta): ApiObject => ({ apiVersion: 'v1', kind: 'Any', metadata });
const check = (changes: Partial<ObjectMeta>) =>
  linesOf(validateMetadataOf(withMetadata({ ...good, ...changes }), undefined, definition));

const KEY = "must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit";
const SUBDOMAIN = String(dnsSubdomainName('A')[0]);

describe('metadata', () => {
  test('that is valid', () => {
    const metadata: Partial<ObjectMeta> = {
      generateName: 'a-',
      labels: { 'example.com/a': 'b', c: '' },
      annotations: { 'Example.com/A': '\u0001 anything' },
      finalizers: ['x', 'example.com/y'],
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u', controller: true }],
      managedFields: [{ manager: 'm', operation: 'Apply', fieldsType: 'FieldsV1' }],
      generation: 0,
    };
    expect(check(metadata)).toEqual([]);
  });

  test.each<[string, Partial<ObjectMeta>, readonly string[]]>([
    ['without a name', { name: '' }, ['metadata.name: Required value: name or generateName is required']],
    [
      'with a bad prefix and the name made of it',
      { generateName: 'A_', name: 'A_xmnrr' },
      [
        `metadata.generateName: Invalid value: "A_": ${SUBDOMAIN}`,
        `metadata.name: Invalid value: "A_xmnrr": ${SUBDOMAIN}`,
      ],
    ],
    ['without a namespace', { namespace: '' }, ['metadata.namespace: Required value']],
    [
      'in a namespace that cannot be',
      { namespace: 'a.b' },
      [
        'metadata.namespace: Invalid value: "a.b": must consist of lower case letters, digits and \'-\', and start and end with a letter or digit',
      ],
    ],
    [
      'with a negative generation',
      { generation: -1 },
      ['metadata.generation: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'with bad labels',
      { labels: { 'a b': '-x' } },
      [
        `metadata.labels: Invalid value: "a b": ${KEY}`,
        `metadata.labels: Invalid value: "-x": must be empty, or consist of letters, digits, '-', '_' and '.', starting and ending with a letter or digit`,
      ],
    ],
    [
      'with a bad annotation',
      { annotations: { 'C d': 'e' } },
      [`metadata.annotations: Invalid value: "C d": ${KEY}`],
    ],
    ['with as many annotations as fit', { annotations: { a: 'x'.repeat(256 * 1024 - 1) } }, []],
    [
      'with more annotations than fit',
      { annotations: { a: 'é'.repeat(128 * 1024) } },
      ['metadata.annotations: Too long: may not be more than 262144 bytes'],
    ],
    [
      'with an owner that is not named',
      { ownerReferences: [{ apiVersion: 'a/b/c', kind: '', name: '', uid: '' }] },
      [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
      ],
    ],
    [
      'with an Event as owner',
      { ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: 'e', uid: 'u' }] },
      [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: an Event cannot be an owner',
      ],
    ],
    [
      'with two controllers',
      {
        ownerReferences: [
          { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true },
          { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'v', controller: true },
        ],
      },
      [
        'metadata.ownerReferences: Invalid value: [{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":true},{"apiVersion":"v1","kind":"Node","name":"n","uid":"v","controller":true}]: only one owner can be the controller',
      ],
    ],
    [
      'with finalizers that exclude each other',
      { finalizers: ['a b', 'orphan', 'foregroundDeletion'] },
      [
        `metadata.finalizers: Invalid value: "a b": ${KEY}`,
        'metadata.finalizers: Invalid value: ["a b","orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set',
      ],
    ],
    [
      'with managers that cannot be',
      {
        managedFields: [
          { operation: 'Apply' },
          {
            manager: `é\u0001${'z'.repeat(126)}`,
            operation: 'Other',
            fieldsType: 'FieldsV2',
            subresource: 's'.repeat(257),
          } as unknown as ManagedFieldsEntry,
        ],
      },
      [
        'metadata.managedFields[1].operation: Invalid value: "Other": must be `Apply` or `Update`',
        'metadata.managedFields[1].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
        'metadata.managedFields[1].manager: Too long: may not be more than 128 bytes',
        `metadata.managedFields[1].manager: Invalid value: "é\\u0001${'z'.repeat(126)}": must have printable characters only`,
        'metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes',
      ],
    ],
  ])('%s', (_, changes, want) => {
    expect(check(changes)).toEqual(want);
  });

  test('in a namespace, for a kind without namespaces', () => {
    const inNone = { ...definition, isNamespaced: false };
    const problems = validateMetadataOf(withMetadata(good), undefined, inNone);
    expect(linesOf(problems)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
    expect(validateMetadataOf(withMetadata({ name: 'x' }), undefined, inNone)).toEqual([]);
  });
});

describe('metadata that replaces other metadata', () => {
  const old: ObjectMeta = {
    ...good,
    uid: 'u',
    resourceVersion: '5',
    generation: 3,
    creationTimestamp: '2024-01-01T00:00:00Z',
  };
  const deleted: ObjectMeta = {
    ...old,
    deletionTimestamp: '2024-01-02T00:00:00Z',
    deletionGracePeriodSeconds: 0,
    finalizers: ['a/b', 'c/d'],
  };

  test.each<[string, ObjectMeta, Partial<ObjectMeta>, readonly string[]]>([
    ['may be the same', old, {}, []],
    ['may have other labels', old, { labels: { a: 'b' } }, []],
    ['may have new finalizers', old, { finalizers: ['a/b'] }, []],
    ['may have a higher generation', old, { generation: 4 }, []],
    ['may lose finalizers while it is being deleted', deleted, { finalizers: ['c/d'] }, []],
    [
      'may not gain any then',
      deleted,
      { finalizers: ['a/b', 'x/z', 'e/f', 'x/z'] },
      ['metadata.finalizers: Forbidden: cannot be added to an object that is being deleted: x/z, e/f, x/z'],
    ],
    [
      'has to say which state it was made from',
      old,
      { resourceVersion: '' },
      ['metadata.resourceVersion: Invalid value: "": must be specified for an update'],
    ],
    [
      'may not have a lower generation',
      old,
      { generation: 2 },
      ['metadata.generation: Invalid value: 2: must not be decremented'],
    ],
    [
      'keeps its identity',
      old,
      { name: 'y', namespace: 'other', uid: 'v', creationTimestamp: '2024-01-01T00:00:01Z' },
      [
        'metadata.name: Invalid value: "y": field is immutable',
        'metadata.namespace: Invalid value: "other": field is immutable',
        'metadata.uid: Invalid value: "v": field is immutable',
        'metadata.creationTimestamp: Invalid value: "2024-01-01T00:00:01Z": field is immutable',
      ],
    ],
    [
      'cannot begin its deletion',
      old,
      { deletionTimestamp: '2024-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 },
      [
        'metadata.deletionTimestamp: Invalid value: "2024-01-01T00:00:00Z": field is immutable',
        'metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable',
      ],
    ],
    [
      'is checked for all else, too',
      old,
      { labels: { 'a b': '' } },
      [`metadata.labels: Invalid value: "a b": ${KEY}`],
    ],
  ])('%s', (_, before, changes, want) => {
    const next = withMetadata({ ...before, ...changes });
    expect(linesOf(validateMetadataOf(next, withMetadata(before), definition))).toEqual(want);
  });
});
