import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { duplicateFields } from '../../../src/apiserver/schema/duplicate-fields.ts';

describe('fields that are given twice', () => {
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

  test('are never found in what JSON.stringify has written', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(duplicateFields(json)).toEqual([]);
      }),
    );
  });
});

test('a text that is nested more than a thousand levels deep is refused', () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  expect(duplicateFields(deep(1000))).toEqual([]);
  expect(() => duplicateFields(deep(1001))).toThrow(SyntaxError);
});
