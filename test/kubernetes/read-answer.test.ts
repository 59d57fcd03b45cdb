import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ListSplitter } from '../../src/kubernetes/read-answer.ts';

/** Reads `text` in chunks of the given sizes; the last chunk is the rest. Returns the items as JSON, and the rest. */
function split(text: string, sizes: readonly number[]): { items: string[]; rest: string } {
  const bytes = new TextEncoder().encode(text);
  const splitter = new ListSplitter();
  const items: string[] = [];
  let at = 0;
  for (const size of [...sizes, bytes.length]) {
    const run = splitter.push(bytes.subarray(at, at + size));
    if (run !== '') items.push(run);
    at += size;
  }
  return { items, rest: splitter.rest };
}

function parsed(text: string, sizes: readonly number[]): unknown {
  const { items, rest } = split(text, sizes);
  return { items: items.flatMap((run) => JSON.parse(`[${run}]`) as unknown[]), rest: JSON.parse(rest) };
}

/** One byte per chunk. */
function byBytes(text: string): number[] {
  return Array.from(new TextEncoder().encode(text), () => 1);
}

const chunkSizes = fc.array(fc.integer({ min: 0, max: 40 }));
/** Consists of brackets, quotes, escapes and multi-byte characters. */
const wildText = fc.string({
  unit: fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', 'items', 'é', '🙂', ' '),
});
const value = fc.oneof(
  fc.jsonValue(),
  wildText,
  fc.dictionary(wildText, fc.oneof(wildText, fc.array(wildText))),
);
const spaces = fc.constantFrom(undefined, 1, '\t');

describe('a list in chunks', () => {
  test('is complete, for any chunks', () => {
    fc.assert(
      fc.property(
        fc.dictionary(wildText, value),
        fc.array(value),
        fc.dictionary(wildText, value),
        spaces,
        chunkSizes,
        (before, items, after, space, sizes) => {
          delete before['items'];
          delete after['items'];
          const text = JSON.stringify({ ...before, items, ...after }, undefined, space);
          const rest = JSON.parse(JSON.stringify({ ...before, items: [], ...after }));
          expect(parsed(text, sizes)).toEqual({ items: JSON.parse(JSON.stringify(items)), rest });
        },
      ),
    );
  });

  test('passes on each item with the chunk that contains the comma after it', () => {
    const splitter = new ListSplitter();
    const push = (text: string) => splitter.push(Buffer.from(text));
    expect(push('{"kind":"List","items":[{"a":1')).toBe('');
    expect(push('},{"b":[2,3]},{"c"')).toBe('{"a":1},{"b":[2,3]}');
    expect(push(':"x"}')).toBe('');
    expect(push(']')).toBe('{"c":"x"}');
    expect(push(',"metadata":{"continue":"[,]"}}')).toBe('');
    expect(JSON.parse(splitter.rest)).toEqual({ kind: 'List', items: [], metadata: { continue: '[,]' } });
  });

  test.each([
    { what: 'no items', text: '{"items":[],"metadata":{}}' },
    { what: 'items that were never allocated', text: '{"metadata":{"resourceVersion":"7"},"items":null}' },
    { what: 'another array before the items', text: '{"columns":[1,[2]],"items":[]}' },
    {
      what: 'items of something else',
      text: '{"metadata":{"items":[1,2]},"spec":{"items":[{"items":[3]}]}}',
    },
    { what: 'a text that ends like the name of the items', text: '{"\\"items":[1],"x":"\\"items\\":["}' },
    { what: 'no object', text: '[{"items":[1,2]}]' },
    { what: 'a refusal', text: '{"kind":"Status","status":"Failure","details":{"causes":[{"items":[1]}]}}' },
  ])('is passed on unchanged if it has $what', ({ text }) => {
    for (const sizes of [[], byBytes(text)]) {
      expect(parsed(text, sizes)).toEqual({ items: [], rest: JSON.parse(text) });
    }
  });

  test.each([
    '{"items":[{"a":1}',
    '{"items":[{"a":1}}',
    '{"items":[{"a":1]',
    '{"items":[{"a":1},]}',
    '{"items":[1 2]}',
    '{"items":[1]]',
    '{"items":[1],"metadata":{}',
    '{"items":[1]}}',
    ']}]{"items":[',
    'no JSON',
    '',
  ])('is invalid in pieces if it is invalid as a whole: %s', (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parsed(text, [])).toThrow(SyntaxError);
  });
});
