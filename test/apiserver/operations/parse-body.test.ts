import { describe, expect, test } from 'vitest';
import { parseBody } from '../../../src/apiserver/operations/body.ts';

const parseYaml = (text: string) => parseBody(Buffer.from(text), 'application/yaml');

describe('YAML', () => {
  const levels = (count: number) =>
    Array.from(
      { length: count },
      (_, level) => `a${level + 1}: &a${level + 1} [${Array(10).fill(`*a${level}`).join()}]\n`,
    );

  test.each([
    {
      what: 'stands for a billion items',
      text: `a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n${levels(9).join('')}`,
      problem: 'Excessive alias count',
    },
    { what: 'contains itself', text: 'a: &a [*a]', problem: 'the body cannot be read' },
    {
      what: 'names an anchor that there is none of',
      text: 'a: *b',
      problem: 'b',
    },
    {
      what: 'is nested far too deeply',
      text: `a: ${'['.repeat(20_000)}`,
      problem: 'the body cannot be read',
    },
    {
      what: 'merges what is no map',
      text: 'a: &a 1\nb:\n  <<: *a',
      problem: 'the body cannot be read',
    },
  ])('that $what is refused', ({ text, problem }) => {
    expect(() => parseYaml(text)).toThrow(problem);
  });

  test('may redefine an anchor, and merge an aliased map', () => {
    const text = 'a: &x {p: 1}\nb: *x\nc: &x {q: 1}\nd: *x\ne:\n  <<: *x\n  r: 2\n';
    expect(parseYaml(text)).toMatchObject({
      object: { a: { p: 1 }, b: { p: 1 }, c: { q: 1 }, d: { q: 1 }, e: { q: 1, r: 2 } },
    });
  });
});
