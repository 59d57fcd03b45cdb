import { describe, expect, test } from 'vitest';
import { FENCE } from '../../src/election/model.ts';
import { Givers } from './givers.ts';
import type { CandidateState, HistoryEvent, LeaseState, Writer } from './history.ts';
import { Invariants } from './invariants.ts';

const KEY = 'default/scheduler';
const COORDINATOR: Writer = { kind: 'coordinator', name: 'us' };
const A: Writer = { kind: 'candidate', name: 'a' };
const B: Writer = { kind: 'candidate', name: 'b' };

const lease: LeaseState = {
  uid: 'uid-1',
  resourceVersion: '1',
  holder: 'a',
  renewTime: 't',
  durationMs: 15_000,
  transitions: 1,
  preferredHolder: undefined,
  strategy: undefined,
};
const candidate: CandidateState = {
  uid: 'uid-2',
  resourceVersion: '1',
  leaseName: 'scheduler',
  renewTime: 't',
  pingTime: undefined,
};

function leaseWrite(
  at: number,
  writer: Writer,
  before: Partial<LeaseState>,
  after?: Partial<LeaseState>,
): HistoryEvent {
  return {
    kind: 'lease',
    at,
    writer,
    key: KEY,
    before: { ...lease, ...before },
    after: after && { ...lease, ...after },
  };
}

const coordinates = (at: number, who: string, until: number): HistoryEvent => ({
  kind: 'coordinates',
  at,
  who,
  until,
});
const leads = (at: number, who: string, until: number): HistoryEvent => ({
  kind: 'leads',
  at,
  who,
  key: KEY,
  until,
});
const writes = (at: number, who: string, token: number): HistoryEvent => ({
  kind: 'writesElsewhere',
  at,
  who,
  key: KEY,
  token,
});
const renewed = (at: number, writer: Writer, transitions = 1) =>
  leaseWrite(at, writer, { holder: writer.name, transitions }, { holder: writer.name, transitions });
const NOTED: Partial<LeaseState> = { preferredHolder: 'b', noted: 'b', isNoted: true };
const restored = (at: number, ...leases: readonly Partial<LeaseState>[]): HistoryEvent => ({
  kind: 'restored',
  at,
  leases: new Map(leases.map((state) => [KEY, { ...lease, ...state }])),
});
/** From 1 s on, a note names a better candidate, and the holder renews for 11 s more. */
const toldByNote = (holder: Writer) => [
  renewed(0, holder),
  leaseWrite(1000, COORDINATOR, {}, NOTED),
  leaseWrite(12_000, holder, NOTED, { ...NOTED, renewTime: 'later' }),
];
const US_UNTIL_100_S = coordinates(0, 'us', 100_000);

interface Case {
  readonly name: string;
  readonly events: readonly HistoryEvent[];
  readonly want: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: 'two that lead at one time',
    events: [leads(0, 'a', 15_000), leads(14_000, 'b', 29_000)],
    want: ['a and b both lead default/scheduler'],
  },
  {
    name: 'one that leads after the other is over',
    events: [leads(0, 'a', 15_000), leads(15_000, 'b', 30_000)],
    want: [],
  },
  {
    name: 'one that leads after the other knows that it does not',
    events: [
      leads(0, 'a', 15_000),
      { kind: 'follows', at: 1000, who: 'a', key: KEY },
      leads(2000, 'b', 17_000),
    ],
    want: [],
  },
  {
    name: 'a coordinator that takes a Lease from a holder before its renewal is over',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(14_000, COORDINATOR, {}, { holder: 'b', transitions: 2 }),
    ],
    want: ['us takes default/scheduler from a, which has renewed it in time'],
  },
  {
    name: 'a coordinator that takes a Lease from a holder that has ended, although its last request was carried out later',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      { kind: 'ends', at: 1000, who: 'a', key: KEY },
      Object.assign(renewed(2000, A), { isLate: true }),
      leaseWrite(5000, COORDINATOR, {}, { holder: 'b', transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that takes a Lease from a holder that has ended, started again and renewed',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      { kind: 'ends', at: 1000, who: 'a', key: KEY },
      leads(2000, 'a', 17_000),
      { kind: 'follows', at: 2500, who: 'a', key: KEY },
      renewed(3000, A),
      leaseWrite(5000, COORDINATOR, {}, { holder: 'b', transitions: 2 }),
    ],
    want: ['us takes default/scheduler from a, which has renewed it in time'],
  },
  {
    name: 'a coordinator that grants an expired Lease',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(15_000, COORDINATOR, {}, { holder: 'b', transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that takes back a grant to one that had led, released the Lease, and not come back since',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(1000, A, {}, { holder: '' }),
      leaseWrite(2000, COORDINATOR, { holder: '' }, { transitions: 2 }),
      leaseWrite(3000, COORDINATOR, { transitions: 2 }, { holder: 'b', transitions: 3 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that grants an emptied Lease while its last leader believes in it',
    events: [
      US_UNTIL_100_S,
      leads(0, 'a', 15_000),
      leaseWrite(10_000, COORDINATOR, { holder: '' }, { holder: 'b', transitions: 2 }),
    ],
    want: ['us gives default/scheduler to "b" while a leads'],
  },
  {
    name: 'a coordinator that fences a holder which has renewed under a note for two electionDurations',
    events: [
      US_UNTIL_100_S,
      ...toldByNote(A),
      leads(0, 'a', 27_000),
      leaseWrite(13_000, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that fences a holder too early',
    events: [
      US_UNTIL_100_S,
      ...toldByNote(A),
      leaseWrite(10_500, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: ['us fences a on default/scheduler, which may not know that it should give way, or could be told'],
  },
  {
    name: 'a coordinator that fences a holder that the field could ask to yield',
    events: [
      US_UNTIL_100_S,
      ...toldByNote(A),
      leaseWrite(
        13_000,
        COORDINATOR,
        { preferredHolder: 'b' },
        { preferredHolder: 'b', holder: FENCE, transitions: 2 },
      ),
    ],
    want: ['us fences a on default/scheduler, which may not know that it should give way, or could be told'],
  },
  {
    name: 'a coordinator that fences a holder that has not renewed since the note',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(1000, COORDINATOR, {}, NOTED),
      leaseWrite(13_000, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: ['us fences a on default/scheduler, which may not know that it should give way, or could be told'],
  },
  {
    name: 'a coordinator that fences a holder with a note from before a backup that is then restored',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(1000, COORDINATOR, {}, NOTED),
      restored(12_000, NOTED),
      leaseWrite(13_000, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that fences a holder with a note from after a backup that is then restored',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(1000, COORDINATOR, {}, NOTED),
      restored(12_000, {}),
      leaseWrite(13_000, COORDINATOR, {}, { holder: FENCE, transitions: 2 }),
    ],
    want: ['us fences a on default/scheduler, which may not know that it should give way, or could be told'],
  },
  {
    name: 'a coordinator that fences a holder with a note only in a backup, after it has had the time to yield',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      restored(1000, NOTED),
      leaseWrite(12_000, A, NOTED, { ...NOTED, renewTime: 'later' }),
      leaseWrite(12_100, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that fences a holder for a note that another client’s field has hidden for a while',
    events: [
      US_UNTIL_100_S,
      renewed(0, A),
      leaseWrite(1000, COORDINATOR, {}, NOTED),
      leaseWrite(11_000, B, NOTED, { preferredHolder: 'c', noted: 'b' }),
      leaseWrite(12_000, A, { preferredHolder: 'c', noted: 'b' }, { ...NOTED, renewTime: 'later' }),
      leaseWrite(12_100, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
    ],
    want: [],
  },
  {
    name: 'a coordinator that grants a fenced Lease while its former holder believes that it leads, and before the fence has expired',
    events: [
      US_UNTIL_100_S,
      ...toldByNote(A),
      leads(12_000, 'a', 27_000),
      leaseWrite(13_000, COORDINATOR, NOTED, { ...NOTED, holder: FENCE, transitions: 2 }),
      leaseWrite(26_000, COORDINATOR, { holder: FENCE, transitions: 2 }, { holder: 'b', transitions: 3 }),
    ],
    want: [
      `us takes default/scheduler from ${FENCE}, which has renewed it in time`,
      'us gives default/scheduler to "b" while a leads',
    ],
  },
  {
    name: 'two coordinators at one time',
    events: [coordinates(0, 'us', 10_000), coordinates(9000, 'them', 19_000)],
    want: ['us and them both coordinate'],
  },
  {
    name: 'a coordinator that writes while another one has the lock',
    events: [
      coordinates(0, 'us', 10_000),
      coordinates(10_000, 'them', 20_000),
      leaseWrite(11_000, COORDINATOR, {}, { preferredHolder: 'b' }),
    ],
    want: ['us writes default/scheduler while them coordinates'],
  },
  {
    name: 'a write that was on its way when the lock was lost',
    events: [coordinates(0, 'us', 10_000), leaseWrite(13_500, COORDINATOR, {}, { preferredHolder: 'b' })],
    want: [],
  },
  {
    name: 'a write long after the lock was lost',
    events: [
      coordinates(0, 'us', 10_000),
      { kind: 'standsBy', at: 5000, who: 'us' },
      leaseWrite(8501, COORDINATOR, {}, { preferredHolder: 'b' }),
    ],
    want: ['us writes default/scheduler without the lock'],
  },
  {
    name: 'a write that its sender had given up before it arrived',
    events: [
      coordinates(0, 'us', 10_000),
      { ...leaseWrite(60_000, COORDINATOR, {}, { preferredHolder: 'b' }), isLate: true } as HistoryEvent,
    ],
    want: [],
  },
  {
    name: 'a candidate deleted within its validity',
    events: [
      US_UNTIL_100_S,
      { kind: 'candidate', at: 0, writer: A, key: 'default/a', before: undefined, after: candidate },
      {
        kind: 'candidate',
        at: 59_999,
        writer: COORDINATOR,
        key: 'default/a',
        before: candidate,
        after: undefined,
      },
    ],
    want: ['us deletes default/a, which has renewed 59999 ms ago'],
  },
  {
    name: 'a candidate deleted after its validity',
    events: [
      US_UNTIL_100_S,
      { kind: 'candidate', at: 0, writer: A, key: 'default/a', before: undefined, after: candidate },
      {
        kind: 'candidate',
        at: 60_000,
        writer: COORDINATOR,
        key: 'default/a',
        before: candidate,
        after: undefined,
      },
    ],
    want: [],
  },
  {
    name: 'leaseTransitions that decreases',
    events: [US_UNTIL_100_S, leaseWrite(0, COORDINATOR, { transitions: 3 }, { transitions: 2 })],
    want: ['us sets leaseTransitions of default/scheduler from 3 to 2'],
  },
  {
    name: 'two leaders with one number',
    events: [renewed(0, A, 4), renewed(60_000, B, 4)],
    want: ['a and b both lead default/scheduler with leaseTransitions 4'],
  },
  {
    name: 'a number given out again after a restore',
    events: [renewed(0, A, 4), restored(30_000), renewed(60_000, B, 4)],
    want: [],
  },
  {
    name: 'a leader of before that writes elsewhere after its successor',
    events: [writes(0, 'a', 4), writes(1000, 'b', 5), writes(1001, 'a', 4), writes(2000, 'b', 5)],
    want: ['a writes as leader of default/scheduler with token 4 after b with 5'],
  },
  {
    name: 'two that write elsewhere with one token',
    events: [writes(0, 'a', 4), writes(1000, 'b', 4)],
    want: ['a and b both write as leader of default/scheduler with token 4'],
  },
  {
    name: 'a token that is repeated after a restore',
    events: [writes(0, 'a', 4), restored(30_000), writes(60_000, 'b', 4)],
    want: [],
  },
];

describe('the invariants of a history', () => {
  test.each(cases)('say what is wrong with $name', ({ events, want }) => {
    const invariants = new Invariants({
      candidateValidityMs: 60_000,
      electionDurationMs: 5000,
      clockTolerance: 1,
    });
    expect(events.flatMap((event) => invariants.observe(event))).toEqual(want);
  });

  test('respect a renewal for as long as clocks with different rates agree', () => {
    const invariants = new Invariants({
      candidateValidityMs: 60_000,
      electionDurationMs: 5000,
      clockTolerance: 0.9,
    });
    const takenAt = (at: number) =>
      [
        US_UNTIL_100_S,
        renewed(0, A),
        leaseWrite(at, COORDINATOR, {}, { holder: 'b', transitions: 2 }),
      ].flatMap((event) => invariants.observe(event));
    expect(takenAt(13_400)).toHaveLength(1);
    expect(takenAt(13_500)).toEqual([]);
  });
});

describe('who has granted a Lease to its holder', () => {
  const BUILT_IN: Writer = { kind: 'builtIn', name: 'built-in' };
  const byBuiltIn = leaseWrite(0, BUILT_IN, { holder: 'a' }, { holder: 'b' });

  test.each([
    ['the built-in', [byBuiltIn], true],
    ['the built-in, and its holder has renewed it', [byBuiltIn, renewed(1, B)], true],
    ['the built-in, and it is deleted', [byBuiltIn, leaseWrite(1, A, { holder: 'b' })], true],
    ['us', [leaseWrite(0, COORDINATOR, { holder: '' }, { holder: 'b' })], false],
    [
      'us, after the built-in',
      [byBuiltIn, leaseWrite(1, COORDINATOR, { holder: 'b' }, { holder: 'a' })],
      false,
    ],
    ['nobody that is known, as storage was restored', [byBuiltIn, restored(1)], false],
  ] as const)('is %s', (_, events, want) => {
    const givers = new Givers();
    for (const event of events) givers.observe(event);
    expect(givers.isOfBuiltIn(leads(2, 'b', 100))).toBe(want);
    expect(givers.isOfBuiltIn(coordinates(2, 'us', 100))).toBe(false);
  });
});
