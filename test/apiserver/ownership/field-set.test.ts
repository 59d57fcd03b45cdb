import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  difference,
  type FieldSet,
  fieldSetOfPaths,
  fromFieldsV1,
  hasPath,
  intersection,
  isEmptySet,
  type Path,
  PathElementError,
  pathsOf,
  pathText,
  toFieldsV1,
  union,
} from '../../../src/apiserver/ownership/field-set.ts';
import type { JsonObject } from '../../../src/support/json.ts';

const names = fc.constantFrom('a', 'b', 'example.com/c', '.', 'f:d', '');
const values = fc.oneof(fc.constantFrom('x', 'y<z', '"'), fc.integer({ min: -2, max: 2 }), fc.boolean());
const elements = fc.oneof(
  names.map((name) => `f:${name}`),
  values.map((value) => `v:${escaped(value)}`),
  values.map((value) => `k:${escaped({ uid: value })}`),
  fc.nat(3).map((index) => `i:${index}`),
);
const paths = fc.array(elements, { minLength: 1, maxLength: 3 });
const pathLists = fc.array(paths, { maxLength: 12 });

function escaped(value: unknown): string {
  return JSON.stringify(value);
}

/** The naive model: the paths as texts. */
function model(list: readonly Path[]): ReadonlySet<string> {
  return new Set(list.map((path) => JSON.stringify(path)));
}

function asModel(set: FieldSet): ReadonlySet<string> {
  return model(pathsOf(set));
}

describe('a set of fields', () => {
  test('contains exactly the inserted paths', () => {
    fc.assert(
      fc.property(pathLists, paths, (list, other) => {
        const set = fieldSetOfPaths(list);
        expect(asModel(set)).toEqual(model(list));
        expect(hasPath(set, other)).toBe(model(list).has(JSON.stringify(other)));
        expect(isEmptySet(set)).toBe(list.length === 0);
      }),
    );
  });

  test('is united, intersected and subtracted path by path', () => {
    fc.assert(
      fc.property(pathLists, pathLists, (one, other) => {
        const [a, b] = [fieldSetOfPaths(one), fieldSetOfPaths(other)];
        const [left, right] = [model(one), model(other)];
        expect(asModel(union(a, b))).toEqual(new Set([...left, ...right]));
        expect(asModel(intersection(a, b))).toEqual(new Set([...left].filter((path) => right.has(path))));
        expect(asModel(difference(a, b))).toEqual(new Set([...left].filter((path) => !right.has(path))));
        expect(isEmptySet(difference(a, union(b, a)))).toBe(true);
      }),
    );
  });

  test('is unchanged after encoding and decoding', () => {
    fc.assert(
      fc.property(pathLists, (list) => {
        const set = fieldSetOfPaths(list);
        const written = JSON.stringify(toFieldsV1(set));
        const read = fromFieldsV1(JSON.parse(written));
        expect(read).toEqual(set);
        expect(JSON.stringify(toFieldsV1(read))).toBe(written);
      }),
    );
  });

  test('has one encoding, whatever the order of insertion', () => {
    fc.assert(
      fc.property(pathLists, (list) => {
        const written = JSON.stringify(toFieldsV1(fieldSetOfPaths(list)));
        expect(JSON.stringify(toFieldsV1(fieldSetOfPaths([...list].reverse())))).toBe(written);
      }),
    );
  });

  test('never contains the whole object', () => {
    expect(isEmptySet(fieldSetOfPaths([[]]))).toBe(true);
    expect(hasPath(fieldSetOfPaths([['f:a']]), [])).toBe(false);
  });
});

describe('the notation of a set', () => {
  test.each([
    { name: 'nothing', given: {}, want: {} },
    { name: 'a field', given: { 'f:a': {} }, want: { 'f:a': {} } },
    { name: 'null', given: { 'f:a': null }, want: { 'f:a': {} } },
    {
      name: 'a field and the fields below it',
      given: { 'f:a': { 'f:b': {}, '.': {} } },
      want: { 'f:a': { '.': {}, 'f:b': {} } },
    },
    { name: 'a dot alone', given: { 'f:a': { '.': {} } }, want: { 'f:a': {} } },
    { name: 'a dot at the top', given: { '.': {}, 'f:a': {} }, want: { 'f:a': {} } },
    {
      name: 'the dot whatever it holds',
      given: { 'f:a': { '.': { 'f:c': {} }, 'f:b': {} } },
      want: { 'f:a': { '.': {}, 'f:b': {} } },
    },
    {
      name: 'elements of a future kind',
      given: { 'x:a': { 'f:b': {} }, 'f:a': { 'y:z': {} } },
      want: { 'f:a': {} },
    },
    {
      name: 'elements out of order',
      given: {
        'i:10': {},
        'i:9': {},
        'v:"b"': {},
        'v:true': {},
        'v:"a"': {},
        'v:2': {},
        'v:10': {},
        'k:{"uid":"b"}': {},
        'k:{"uid":"a"}': {},
        'f:b': {},
        'f:a': {},
        'v:null': {},
      },
      want: {
        'f:a': {},
        'f:b': {},
        'k:{"uid":"a"}': {},
        'k:{"uid":"b"}': {},
        'v:2': {},
        'v:10': {},
        'v:"a"': {},
        'v:"b"': {},
        'v:true': {},
        'v:null': {},
        'i:9': {},
        'i:10': {},
      },
    },
    {
      name: 'keys in another spelling',
      given: { 'k:{ "b" : 1, "a" : "x<y" }': {}, 'v:"\\u0061"': {}, 'i:+7': {} },
      want: { 'k:{"a":"x<y","b":1}': {}, 'v:"a"': {}, 'i:7': {} },
    },
    {
      name: 'keys of several fields',
      given: { 'k:{"a":1,"b":2}': {}, 'k:{"a":1}': {}, 'k:{"b":0}': {}, 'k:{"a":1,"b":1}': {}, 'k:{}': {} },
      want: { 'k:{}': {}, 'k:{"a":1}': {}, 'k:{"a":1,"b":1}': {}, 'k:{"a":1,"b":2}': {}, 'k:{"b":0}': {} },
    },
  ])('of $name is parsed', ({ given, want }) => {
    expect(toFieldsV1(fromFieldsV1(given))).toEqual(want);
  });

  test.each<{ name: string; given: JsonObject }>([
    { name: 'a field without its letter', given: { spec: {} } },
    { name: 'an empty key', given: { '': {} } },
    { name: 'a number for a set', given: { 'f:a': 5 } },
    { name: 'a list for a set', given: { 'f:a': [] } },
    { name: 'a value that is no JSON', given: { 'v:x': {} } },
    { name: 'a key that is no object', given: { 'k:"x"': {} } },
    { name: 'an index that is no number', given: { 'i:x': {} } },
    {
      name: 'fields below a hundred others',
      given: JSON.parse(`${'{"f:a":'.repeat(100)}{}${'}'.repeat(100)}`),
    },
  ])('with $name is invalid', ({ given }) => {
    expect(() => fromFieldsV1(given)).toThrow(PathElementError);
    expect(() => fromFieldsV1({ 'f:above': given })).toThrow(PathElementError);
  });

  test.each([
    { path: ['f:spec', 'f:holderIdentity'], want: '.spec.holderIdentity' },
    { path: ['f:metadata', 'f:finalizers', 'v:"e/a"'], want: '.metadata.finalizers[="e/a"]' },
    { path: ['f:list', 'k:{"a":"x","b":2,"c":null}', 'f:d'], want: '.list[a="x",b=2,c=null].d' },
    { path: ['f:list', 'i:3'], want: '.list[3]' },
    { path: ['f:list', 'v:true'], want: '.list[=true]' },
  ])('is shown to people as $want', ({ path, want }) => {
    expect(pathText(path)).toBe(want);
  });
});
