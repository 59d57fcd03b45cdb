import { expect, test } from 'vitest';
import { maskedLines, missingLine } from './masked-output.ts';

test.each([
  ['NAME   AGE\nfirst  2m13s', ['NAME AGE', 'first DURATION']],
  ['renewed 0.5s ago, in 14s', ['renewed DURATION ago, in DURATION']],
  ['a_8bf4ae09-e63a-4449-abe8-ff8142edca5b leads', ['a_UUID leads']],
  ['web-7695f56954-nqph5   1/1', ['web-HASH 1/1']],
  ['web-7695f56954-nqph5-8bf4ae09-new', ['web-HASH-new']],
  ['web-7695f56954-nqph5_8bf4ae09-e63a-4449-abe8-ff8142edca5b', ['web-HASH_UUID']],
  ['10.0.0.1 2026-11-21T16:53:17.678000Z', ['ADDRESS TIME']],
  [
    'control-plane-1 1.36.3/1.35.0 v1.36.3 first-election',
    ['control-plane-1 1.36.3/1.35.0 v1.36.3 first-election'],
  ],
])('masks what is different each time: %j', (text, want) => {
  expect(maskedLines(text)).toEqual(want);
});

test.each([
  { documented: 'a 1s\nc', real: 'a  2s\nb\nc\n', want: undefined },
  { documented: 'a\n...\nc', real: 'a\nb\nc', want: undefined },
  { documented: 'c\na', real: 'a\nb\nc', want: 'a' },
  { documented: 'a\na', real: 'a', want: 'a' },
  { documented: 'a b', real: 'a b c', want: 'a b' },
])('tells the first line that is missing: $documented', ({ documented, real, want }) => {
  expect(missingLine(documented, real)).toBe(want);
});
