import { describe, expect, test } from 'vitest';
import { ApiError } from '../../../src/apiserver/errors/api-error.ts';
import { leases } from '../../../src/apiserver/kinds/leases.ts';
import { applyJsonPatch, unknownOperationFields } from '../../../src/apiserver/patch/json-patch.ts';
import { applyMergePatch } from '../../../src/apiserver/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../../src/apiserver/patch/strategic-merge-patch.ts';
import { DecodeError, decodeObject } from '../../../src/apiserver/schema/decode.ts';
import type { StructSchema } from '../../../src/apiserver/schema/schema.ts';
import type { JsonObject } from '../../../src/support/json.ts';
import {
  jsonPatchCases,
  mergePatchCases,
  patched,
  strategicMergePatchCases,
  summaryOf,
  wanted,
} from './patch-cases.ts';

const schema = leases({ coordinated: true }).versions[0]?.schema as StructSchema;

function outcomeOf(apply: (document: JsonObject, patch: unknown) => JsonObject, patch: unknown) {
  try {
    return summaryOf(decodeObject(schema, apply(patched, patch)).value);
  } catch (error) {
    if (error instanceof DecodeError) return { code: 422 };
    if (!(error instanceof ApiError)) throw error;
    return { code: error.status.code };
  }
}

/** patch.e2e.test.ts tries every case on a real server, too. */
describe('a JSON patch', () => {
  test.each(jsonPatchCases)('of %s', (_, patch, want) => {
    expect(outcomeOf(applyJsonPatch, patch)).toEqual(wanted(want));
  });

  test('names the missing fields of operations', () => {
    const patch = [{ op: 'test', path: '/a', foo: 1 }, null, { op: 'remove', path: '/a', Value: 1 }];
    expect(unknownOperationFields(patch)).toEqual(['[0].foo', '[2].Value']);
  });

  test('copies at most 256 KiB', () => {
    const copies = (characters: number) => [
      { op: 'add', path: '/x', value: 'x'.repeat(characters) },
      ...['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h'].map((path) => ({ op: 'copy', from: '/x', path })),
    ];
    const quotes = 2;
    expect(outcomeOf(applyJsonPatch, copies(32 * 1024 - quotes))).toMatchObject({
      labels: { a: '1', b: '2' },
    });
    expect(outcomeOf(applyJsonPatch, copies(32 * 1024 - quotes + 1))).toMatchObject({ code: 422 });
  });

  test('copies by value', () => {
    const patch = [
      { op: 'add', path: '/a/x', value: 1 },
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/y', value: 2 },
      { op: 'add', path: '/a/z', value: 3 },
    ];
    expect(applyJsonPatch({ a: {} }, patch)).toEqual({ a: { x: 1, z: 3 }, b: { x: 1, y: 2 } });
  });

  test('does not modify its own values', () => {
    const value = { x: 1 };
    applyJsonPatch({}, [
      { op: 'add', path: '/a', value },
      { op: 'add', path: '/a/y', value: 2 },
    ]);
    expect(value).toEqual({ x: 1 });
  });

  test('treats __proto__ as a key like any other', () => {
    const patch = JSON.parse('[{"op":"add","path":"/__proto__","value":{"polluted":1}}]');
    const result = applyJsonPatch({}, patch);
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect('polluted' in result).toBe(false);
  });
});

describe('a merge patch', () => {
  test.each(mergePatchCases)('of %s', (_, patch, want) => {
    expect(outcomeOf(applyMergePatch, patch)).toEqual(wanted(want));
  });

  test('treats __proto__ as a key like any other', () => {
    const result = applyMergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}'));
    expect(Object.keys(result)).toEqual(['__proto__']);
    expect('polluted' in result).toBe(false);
  });
});

describe('a strategic merge patch', () => {
  test.each(strategicMergePatchCases)('of %s', (_, patch, want) => {
    const apply = (document: JsonObject, patch: unknown) => applyStrategicMergePatch(schema, document, patch);
    expect(outcomeOf(apply, patch)).toEqual(wanted(want));
  });
});

test('a patch does not modify its object', () => {
  const before = structuredClone(patched);
  const { metadata, spec } = patched;
  applyJsonPatch(patched, [{ op: 'remove', path: '/metadata/finalizers/0' }]);
  applyMergePatch(patched, { spec: { holderIdentity: 'i' } });
  applyStrategicMergePatch(schema, patched, {
    metadata: { finalizers: ['e/c'], ownerReferences: [{ uid: 'u1', name: 'x' }] },
  });
  expect(patched).toEqual(before);
  expect(patched).toMatchObject({ metadata, spec });
});
