import { expect, test } from 'vitest';
import { leftoversOf, type Open } from './leftovers.ts';

const quiet: Open = {
  isActive: false,
  descriptors: { socket: 8, file: 5, 'anon_inode:[eventpoll]': 4 },
  resources: { TCPSocketWrap: 4, Timeout: 6 },
};

const cases: readonly { name: string; atStart?: readonly Open[]; now: Partial<Open>; want: string[] }[] = [
  { name: 'nothing is left over from what was there at the start', now: {}, want: [] },
  {
    name: 'a socket more is left over',
    now: { descriptors: { ...quiet.descriptors, socket: 9 } },
    want: ['descriptors: 9 of socket, 8 at the start'],
  },
  {
    name: 'a timer more is left over',
    now: { resources: { ...quiet.resources, Timeout: 7 } },
    want: ['resources: 7 of Timeout, 6 at the start'],
  },
  {
    name: 'a kind that was not there is left over',
    now: { descriptors: { ...quiet.descriptors, pipe: 2 } },
    want: ['descriptors: 2 of pipe, 0 at the start'],
  },
  {
    name: 'as many as there were in some quiet moment are no leftovers',
    atStart: [quiet, { ...quiet, resources: { ...quiet.resources, Timeout: 7 } }],
    now: { resources: { ...quiet.resources, Timeout: 7 } },
    want: [],
  },
  {
    name: 'the active replica may have as much as whichever was active at the start',
    atStart: [quiet, { ...quiet, isActive: true, resources: { ...quiet.resources, Timeout: 7 } }],
    now: { isActive: true, resources: { ...quiet.resources, Timeout: 7 } },
    want: [],
  },
  {
    name: 'a standby may have no more than a standby had',
    atStart: [quiet, { ...quiet, isActive: true, resources: { ...quiet.resources, Timeout: 7 } }],
    now: { resources: { ...quiet.resources, Timeout: 7 } },
    want: ['resources: 7 of Timeout, 6 at the start'],
  },
  {
    name: 'what runs in this turn of the event loop is not left over',
    now: { resources: { ...quiet.resources, Immediate: 1 } },
    want: [],
  },
];

test.each(cases)('$name', ({ atStart = [quiet], now, want }) => {
  expect(leftoversOf(atStart, { ...quiet, ...now })).toEqual(want);
});
