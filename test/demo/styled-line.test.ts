import { describe, expect, test } from 'vitest';
import { cutLine, harmless, span, textOf, wrapText } from '../../src/demo/styled-line.ts';

describe('a line', () => {
  const line = [span('holder ', 'dim'), span('sample-3', 'strong'), span(' leads')];

  test.each([
    { columns: 21, want: 'holder sample-3 leads' },
    { columns: 20, want: 'holder sample-3 lea~' },
    { columns: 16, want: 'holder sample-3~' },
    { columns: 8, want: 'holder ~' },
    { columns: 1, want: '~' },
    { columns: 0, want: '' },
  ])('is cut to $columns columns', ({ columns, want }) => {
    expect(textOf(cutLine(line, columns))).toBe(want);
  });

  test('keeps its styles where it is cut', () => {
    expect(cutLine(line, 10)).toEqual([
      { text: 'holder ', style: 'dim' },
      { text: 'sa', style: 'strong' },
      { text: '~', style: 'dim' },
    ]);
  });
});

describe('text', () => {
  test.each([
    { text: 'one two three', columns: 7, want: ['one two', 'three'] },
    { text: 'one two three', columns: 13, want: ['one two three'] },
    { text: 'one two three', columns: 4, want: ['one', 'two', 'thre', 'e'] },
    { text: 'one', columns: 0, want: ['o', 'n', 'e'] },
    { text: '', columns: 5, want: [''] },
  ])('"$text" is wrapped at $columns columns', ({ text, columns, want }) => {
    expect(wrapText(text, columns)).toEqual(want);
  });

  test.each([
    { name: 'an escape sequence', text: '\x1b[2Jgone', want: '?[2Jgone' },
    { name: 'a new line', text: 'a\nb', want: 'a?b' },
    { name: 'what is wider than one column', text: 'a界b', want: 'a?b' },
    { name: 'nothing of the usual', text: 'sample-3 (~!)', want: 'sample-3 (~!)' },
  ])('cannot do harm with $name', ({ text, want }) => {
    expect(harmless(text)).toBe(want);
  });
});
