import { expect, test } from 'vitest';
import { codeAt, withCodeAt } from './code-at.ts';

const source = 'first(a,\n  b);\nlast();\n';
const span = { start: { line: 0, column: 6 }, end: { line: 1, column: 3 } };

test('part of a file may go over several lines', () => {
  expect(codeAt(source, span)).toBe('a,\n  b');
});

test('the rest of a file stays when part of it is replaced', () => {
  expect(withCodeAt(source, span, 'c')).toBe('first(c);\nlast();\n');
});
