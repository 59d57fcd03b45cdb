import { describe, expect, test } from 'vitest';
import { goJson, goQuote, goTimeQuote } from '../../../src/apiserver/schema/go-text.ts';

describe('quoted text', () => {
  test.each([
    ['plain text', 'abc', '"abc"'],
    ['quotes and backslashes', 'a"b\\c', '"a\\"b\\\\c"'],
    ['letters of any script', 'é漢', '"é漢"'],
    ['what HTML would read', '<&>', '"<&>"'],
    ['a pictograph', '\u{1f600}', '"\u{1f600}"'],
    ['characters with a name', '\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
    ['other control characters', '\u0001\u007f', '"\\x01\\x7f"'],
    ['what cannot be seen', '\u0085\u00a0\u00ad\u200b\ufeff', '"\\u0085\\u00a0\\u00ad\\u200b\\ufeff"'],
    ['a line separator', '\u2028', '"\\u2028"'],
    ['an unassigned code point beyond 16 bits', '\u{10ffff}', '"\\U0010ffff"'],
    ['the replacement character', '\ufffd', '"\ufffd"'],
  ])('shows %s as Go does', (_, text, want) => {
    expect(goQuote(text)).toBe(want);
  });
});

describe('JSON', () => {
  test.each([
    ['a number', -1, '-1'],
    ['nothing', undefined, 'null'],
    ['a list', ['a', true], '["a",true]'],
    ['what HTML would read', '<a>&', '"\\u003ca\\u003e\\u0026"'],
    ['line separators', '\u2028\u2029', '"\\u2028\\u2029"'],
    ['control characters', '\u0001\u007f', '"\\u0001\u007f"'],
  ])('shows %s as Go does', (_, value, want) => {
    expect(goJson(value)).toBe(want);
  });
});

test('times are quoted byte by byte', () => {
  expect(goTimeQuote('"é\\\n')).toBe('"\\"\\xc3\\xa9\\\\\\x0a"');
});
