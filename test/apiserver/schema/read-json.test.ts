import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  duplicateFields,
  duplicatesOf,
  MAX_JSON_DEPTH,
  readJson,
} from '../../../src/apiserver/schema/read-json.ts';

test('accepts exactly the texts that JSON.parse accepts', () => {
  const anyJson = fc.oneof(fc.json(), fc.json({ depthSize: 'large' }));
  fc.assert(
    fc.property(anyJson, (json) => {
      expect(readJson(json)).toEqual(JSON.parse(json));
    }),
  );
  expect(() => readJson('{')).toThrow(SyntaxError);
});

test('reads numbers of every form like JSON.parse', () => {
  const json =
    '{"a":1.0,"b":[1e3,-0,0.5,12345678901234567890],"c":{"d":true,"e":false,"f":null,"g":"x"}, "h":[]}';
  expect(readJson(json)).toEqual(JSON.parse(json));
});

test('keeps the last of duplicate fields', () => {
  expect(readJson('{"a":1,"b":{"x":1,"x":"\\u0041"},"a":2}')).toEqual({ a: 2, b: { x: 'A' } });
});

test('remembers the duplicate fields', () => {
  const value = readJson('{"a":1,"b":{"x":1,"x":2},"a":3}') as object;
  expect(duplicatesOf(value)).toEqual(['b.x', 'a']);
  expect(duplicatesOf(readJson('{"a":1}') as object)).toEqual([]);
});

describe('duplicate fields', () => {
  test.each([
    ['nothing at all', 'null', []],
    ['an object without any', '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}', []],
    ['one at the root', '{"a":1,"b":2,"a":3}', ['a']],
    ['one that is given three times', '{"a":1,"a":2,"a":3}', ['a']],
    ['one below another', '{"spec":{"x":1,"x":2}}', ['spec.x']],
    ['one in a list', '{"items":[{"a":1},{"a":1,"a":2}]}', ['items[1].a']],
    ['one in a list of lists', '[[{"a":1}],[0,{"a":1,"a":2}]]', ['[1][1].a']],
    ['several, in the order in which they come again', '{"b":1,"a":1,"a":2,"b":2}', ['a', 'b']],
    ['objects, each of which has its own fields', '{"a":{"x":1},"a":{"x":1,"x":2}}', ['a', 'a.x']],
    ['one that is written in two ways', '{"ab":1,"\\u0061b":2}', ['ab']],
    ['names with quotes, braces and commas', '{"a\\"{,:":1,"b":"}\\\\","a\\"{,:":2}', ['a"{,:']],
    ['space anywhere', ' { "a" : [ 1 , { } , [ ] ] ,\n\t"a" : -1.5e3 } ', ['a']],
    ['values that look like fields', '{"a":"a","b":"a","c":["a","a"]}', []],
    ['empty names', '{"":1,"":{"":1,"":2}}', ['', '']],
  ])('are found in %s', (_, json, want) => {
    JSON.parse(json);
    expect(duplicateFields(json)).toEqual([...new Set(want)]);
  });

  test('are never found in the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(duplicateFields(json)).toEqual([]);
      }),
    );
  });
});

test('a text with too many levels is refused', () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect(duplicateFields(deep(MAX_JSON_DEPTH))).toEqual([]);
  expect(() => duplicateFields(deep(MAX_JSON_DEPTH + 1))).toThrow(SyntaxError);
});
