import { describe, expect, test } from 'vitest';
import { metadataField, objectMetaSchema } from '../../../src/apiserver/schema/api-object.ts';
import type { ListSchema } from '../../../src/apiserver/schema/schema.ts';

function listOf(field: string): ListSchema {
  const type = objectMetaSchema.fields[field]?.type;
  if (type?.kind !== 'list') throw new Error(`${field} is no list`);
  return type;
}

describe('the lists of metadata', () => {
  test.each([
    ['ownerReferences', { listType: 'map', keys: ['uid'], patchStrategy: { mergeKey: 'uid' } }],
    ['finalizers', { listType: 'set', patchStrategy: {} }],
    ['managedFields', { listType: 'atomic' }],
  ])('%s are owned and patched as in Kubernetes', (field, want) => {
    const { kind: _, items: __, ...rest } = listOf(field);
    expect(rest).toEqual(want);
  });

  test('an owner is owned as one', () => {
    expect(listOf('ownerReferences').items).toMatchObject({ name: 'OwnerReference', isAtomic: true });
  });
});

test('what managers set is not looked into', () => {
  expect(listOf('managedFields').items).toMatchObject({ fields: { fieldsV1: { type: { kind: 'opaque' } } } });
});

test('every object has metadata', () => {
  expect(metadataField).toMatchObject({ type: objectMetaSchema, zero: 'fill' });
});
