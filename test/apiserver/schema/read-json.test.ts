import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { membersOf, readJson } from '../../../src/apiserver/schema/read-json.ts';

test('reads what JSON.parse reads, and refuses what it refuses', () => {
  const anyJson = fc.oneof(fc.json(), fc.json({ depthSize: 'large' }));
  fc.assert(
    fc.property(anyJson, (json) => {
      expect(readJson(json)).toEqual(JSON.parse(json));
    }),
  );
  expect(() => readJson('{')).toThrow(SyntaxError);
});

test('reads numbers of every form as JSON.parse does', () => {
  const json =
    '{"a":1.0,"b":[1e3,-0,0.5,12345678901234567890],"c":{"d":true,"e":false,"f":null,"g":"x"}, "h":[]}';
  expect(readJson(json)).toEqual(JSON.parse(json));
});

test('keeps the last of a field that is given twice', () => {
  expect(readJson('{"a":1,"b":{"x":1,"x":"\\u0041"},"a":2}')).toEqual({ a: 2, b: { x: 'A' } });
});

describe('what was written', () => {
  test.each([
    [
      'is what is there',
      '{"a":1,"b":"x"}',
      [
        ['a', 1],
        ['b', 'x'],
      ],
    ],
    [
      'has the fields that came twice',
      '{"a":1,"b":2,"a":3}',
      [
        ['a', 1],
        ['b', 2],
        ['a', 3],
      ],
    ],
    [
      'has the text of odd numbers',
      '{"a":1.0,"b":2}',
      [
        ['a', 1, '1.0'],
        ['b', 2],
      ],
    ],
    ['has that of long numbers', '{"a":9007199254740993}', [['a', 9007199254740992, '9007199254740993']]],
    [
      'has the items of a list',
      '[1e1,2,{}]',
      [
        ['0', 10, '1e1'],
        ['1', 2],
        ['2', {}],
      ],
    ],
  ])('%s', (_, json, want) => {
    const members = membersOf(readJson(json) as object).map(({ key, value, literal }) =>
      literal === undefined ? [key, value] : [key, value, literal],
    );
    expect(members).toEqual(want);
  });
});
