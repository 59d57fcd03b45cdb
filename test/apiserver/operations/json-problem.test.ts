import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonProblem } from '../../../src/apiserver/operations/json-problem.ts';

describe('the words for a text that is no JSON', () => {
  test.each([
    { text: '', want: 'unexpected end of JSON input' },
    { text: '{', want: 'unexpected end of JSON input' },
    { text: '{"a"', want: 'unexpected end of JSON input' },
    { text: '"abc', want: 'unexpected end of JSON input' },
    { text: 'nul', want: 'unexpected end of JSON input' },
    { text: '-', want: 'unexpected end of JSON input' },
    { text: '{a:1}', want: "invalid character 'a' looking for beginning of object key string" },
    { text: '{"a":1,}', want: "invalid character '}' looking for beginning of object key string" },
    { text: '{"a" 1}', want: "invalid character '1' after object key" },
    { text: '{"a":1 "b":2}', want: `invalid character '"' after object key:value pair` },
    { text: '{"a":}', want: "invalid character '}' looking for beginning of value" },
    { text: '[1 2]', want: "invalid character '2' after array element" },
    { text: '[1,]', want: "invalid character ']' looking for beginning of value" },
    { text: '{} trailing', want: "invalid character 't' after top-level value" },
    { text: 'hello', want: "invalid character 'h' looking for beginning of value" },
    { text: "'a'", want: "invalid character '\\'' looking for beginning of value" },
    { text: 'trux', want: "invalid character 'x' in literal true (expecting 'e')" },
    { text: '01', want: "invalid character '1' after top-level value" },
    { text: '1.x', want: "invalid character 'x' after decimal point in numeric literal" },
    { text: '1ex', want: "invalid character 'x' in exponent of numeric literal" },
    { text: '-x', want: "invalid character 'x' in numeric literal" },
    { text: '"\n"', want: "invalid character '\\n' in string literal" },
    { text: '"\\x"', want: "invalid character 'x' in string escape code" },
    { text: '"\\u12g4"', want: "invalid character 'g' in \\u hexadecimal character escape" },
  ])('are those of Go: $text', ({ text, want }) => {
    expect(jsonProblem(text)).toBe(want);
  });

  test.each([
    { levels: 1000, want: 'unexpected end of JSON input' },
    { levels: 1001, want: "invalid character '[' exceeded max depth" },
    { levels: 3_000_000, want: "invalid character '[' exceeded max depth" },
  ])('are found at any depth: $levels levels', ({ levels, want }) => {
    expect(jsonProblem('['.repeat(levels))).toBe(want);
    expect(jsonProblem(`{"a":${'['.repeat(levels - 1)}`)).toBe(want);
  });

  test('are found wherever JSON.parse refuses a text, and never for JSON that was cut off but one', () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (json, at) => {
        const cut = json.slice(0, at % json.length);
        let isJson = true;
        try {
          JSON.parse(cut);
        } catch {
          isJson = false;
        }
        // What was only cut off lacks its end and has no wrong character.
        if (!isJson) expect(jsonProblem(cut)).toBe('unexpected end of JSON input');
      }),
    );
  });
});
