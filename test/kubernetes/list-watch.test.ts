import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../src/kubernetes/list-watch.ts';

describe('lines of a watch', () => {
  test('are the same for any chunks', () => {
    const lines = fc.array(
      fc
        .string({ unit: 'grapheme', minLength: 1 })
        .filter((text) => !/\n/.test(text) && text.trim() === text),
    );
    fc.assert(
      fc.property(lines, fc.array(fc.nat({ max: 40 })), (wanted, cuts) => {
        const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''));
        const splitter = new LineSplitter(1_000_000);
        const found: string[] = [];
        let at = 0;
        for (const cut of cuts) {
          found.push(...splitter.push(bytes.subarray(at, at + cut)));
          at += cut;
        }
        found.push(...splitter.push(bytes.subarray(at)));
        expect(found).toEqual(wanted);
      }),
    );
  });

  test('skip empty ones and keep an incomplete one', () => {
    const splitter = new LineSplitter(100);
    expect(splitter.push(Buffer.from('\n\r\na\r\n\nb'))).toEqual(['a']);
    expect(splitter.push(Buffer.from('c\n'))).toEqual(['bc']);
  });

  test('may have exactly the allowed length', () => {
    const splitter = new LineSplitter(4);
    expect(splitter.push(Buffer.from('1234\n12'))).toEqual(['1234']);
    expect(() => splitter.push(Buffer.from('345'))).toThrow('longer than 4 bytes');
  });
});
