import { expect, test } from 'vitest';
import { MOST, overloads } from './load.ts';

const calm = { busy: 0.4, harnessLateMs: 3, programsLateMs: 4 };

test.each([
  { name: 'a calm machine', load: calm, want: [] },
  { name: 'a busy machine', load: { ...calm, busy: 0.95 }, want: ['kill: busy 0.95, at most 0.9'] },
  {
    name: 'a late event loop',
    load: { ...calm, harnessLateMs: 60, programsLateMs: 26 },
    want: ['kill: harnessLateMs 60.00, at most 25', 'kill: programsLateMs 26.00, at most 25'],
  },
])('$name: whether its figures can be trusted', ({ load, want }) => {
  expect(overloads({ stop: calm, kill: load }, MOST)).toEqual(want);
});
