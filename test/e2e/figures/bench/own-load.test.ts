import { expect, test } from 'vitest';
import { type OwnLoad, refusals } from './own-load.ts';

const calm: OwnLoad = { busy: 0.4, harnessLateMs: 3, programsLateMs: 4, ownShare: 0.2 };
const isBusyByNature = (scenario: string) => scenario === 'first';

test.each([
  { name: 'a calm machine', loads: { first: calm, death: calm }, want: [] },
  {
    name: 'a machine that something else keeps busy',
    loads: { first: calm, death: { ...calm, busy: 0.95 } },
    want: ['death: busy 0.95, at most 0.9'],
  },
  {
    name: 'a machine that is busy as candidates are published',
    loads: { first: { ...calm, busy: 0.99, programsLateMs: 45 }, death: calm },
    want: [],
  },
  {
    name: 'a process that measures late',
    loads: { first: { ...calm, harnessLateMs: 40 } },
    want: ['first: harnessLateMs 40.00, at most 25'],
  },
  {
    name: 'programs that answer late',
    loads: { release: { ...calm, programsLateMs: 26 } },
    want: ['release: programsLateMs 26.00, at most 25'],
  },
  {
    name: 'programs that take more of the machine than they leave',
    loads: { first: { ...calm, ownShare: 0.6 } },
    want: ['first: ownShare 0.60, at most 0.5'],
  },
])('$name: whether figures are refused', ({ loads, want }) => {
  expect(refusals(loads, isBusyByNature)).toEqual(want);
});
