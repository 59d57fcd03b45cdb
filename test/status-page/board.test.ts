import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { SETTLED } from '../../src/controller/renewal-only.ts';
import type { LeaseKey } from '../../src/coordination/lease-key.ts';
import { FENCE } from '../../src/election/model.ts';
import {
  type Board,
  createBoard,
  describeLease,
  MAX_CANDIDATES,
  toneOf,
} from '../../src/status-page/board.ts';
import type { LeaseEntry, Tone } from '../../src/status-page/wire.ts';
import {
  type InputBuilder,
  makeCandidate,
  makeInput,
  makeLease,
  makeNow,
} from '../support/election-builders.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimLeases } from './make-leases.ts';

let clock: VirtualClock;

let leases: SimLeases;

let board: Board;

beforeEach(() => {
  clock = new VirtualClock();
  leases = new SimLeases(clock);
});

/** A board with its input of observations. */
function makeBoard(): Board {
  const made = createBoard(clock, leases);
  leases.onSeen = (key, isRenewalOnly) => made.touch(key, isRenewalOnly);
  return made;
}

/** Returns an up-to-date board. */
function openBoard(): Board {
  board = makeBoard();
  board.refresh(1000);
  return board;
}

function entriesOf({ rows }: Board): readonly LeaseEntry[] {
  return [...rows.keys()].toSorted().map((key) => JSON.parse(rows.get(key)?.text ?? 'null') as LeaseEntry);
}

describe('the board', () => {
  test('shows the state at its start, including a Lease without candidates but with a strategy', () => {
    leases.seeLed('one');
    leases.seeLease('abandoned', { holderIdentity: 'x' });
    leases.seeLease('foreign', { holderIdentity: 'x', strategy: undefined });
    expect(entriesOf(openBoard())).toMatchObject([
      { key: 'kube-system/abandoned', reason: 'NoCandidates', candidates: [] },
      { key: 'kube-system/one', reason: 'LeaderOptimal', holder: 'one-a', isHeld: true },
    ]);
  });

  test('reads few Leases in one step, and reports that there are more', () => {
    for (const name of ['a', 'b', 'c']) leases.seeLed(name);
    board = makeBoard();
    expect(board.refresh(2)).toHaveLength(2);
    expect({ isStale: board.isStale, isLoaded: board.isLoaded }).toEqual({ isStale: true, isLoaded: false });
    expect(board.refresh(2)).toHaveLength(1);
    expect({ isStale: board.isStale, isLoaded: board.isLoaded }).toEqual({ isStale: false, isLoaded: true });
  });

  test('reads a Lease once that changes a hundred times', () => {
    leases.seeLed('one');
    openBoard();
    leases.looks = 0;
    for (let at = 0; at < 100; at++) leases.seeCandidate('one', 'one-a');
    board.refresh(1000);
    expect(leases.looks).toBe(1);
  });

  test('reports a change once, and not an equal state', () => {
    leases.seeLed('one');
    openBoard();
    leases.seeCandidate('one', 'one-c');
    expect(board.refresh(1000)).toEqual(['kube-system/one']);
    board.touch('kube-system/one');
    expect(board.refresh(1000)).toEqual([]);
  });

  test('does not read when a holder has only renewed', async () => {
    leases.seeLed('one');
    openBoard();
    await clock.advance(1000);
    leases.looks = 0;
    leases.seeLease('one', { holderIdentity: 'one-a' }, true);
    board.refresh(1000);
    expect(leases.looks).toBe(0);
  });

  test('sees a Lease expire without an event, and its holder come back', async () => {
    leases.seeLed('one');
    openBoard();
    await clock.advance(9_999);
    board.refresh(1000);
    expect(entriesOf(board)).toMatchObject([{ isHeld: true }]);
    await clock.advance(1);
    expect(board.refresh(1000)).toEqual(['kube-system/one']);
    expect(entriesOf(board)).toMatchObject([
      { isHeld: false, isUnled: true, unledSince: Number(clock.wallTime() / 1000n) },
    ]);
    leases.seeLease('one', { holderIdentity: 'one-a' }, true);
    expect(board.refresh(1000)).toEqual(['kube-system/one']);
    expect(entriesOf(board)).toMatchObject([{ isHeld: true }]);
  });

  test('reports a deleted Lease', () => {
    leases.seeLed('one');
    openBoard();
    leases.dropCandidate('one', 'one-a');
    leases.dropCandidate('one', 'one-b');
    leases.dropLease('one');
    expect(board.refresh(1000)).toEqual(['kube-system/one']);
    expect(board.rows.get('kube-system/one')).toBeUndefined();
  });
});

function isSettled(key: LeaseKey): boolean {
  const { reason } = JSON.parse(board.rows.get(key)?.text ?? '{}') as Partial<LeaseEntry>;
  return reason !== undefined && SETTLED.has(reason);
}

test('the board always equals a new read of everything', async () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const candidate = fc.constantFrom('x', 'y', 'z');
  const step = fc.oneof(
    fc.record({ kind: fc.constant('renew' as const), name }),
    fc.record({ kind: fc.constant('hold' as const), name, candidate }),
    fc.record({ kind: fc.constant('prefer' as const), name, candidate }),
    fc.record({ kind: fc.constant('dropLease' as const), name }),
    fc.record({
      kind: fc.constant('candidate' as const),
      name,
      candidate,
      minor: fc.integer({ min: 30, max: 36 }),
    }),
    fc.record({ kind: fc.constant('dropCandidate' as const), name, candidate }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 20_000 }) }),
    fc.record({ kind: fc.constant('refresh' as const), count: fc.integer({ min: 1, max: 3 }) }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      clock = new VirtualClock();
      leases = new SimLeases(clock);
      board = makeBoard();
      const holders = new Map<string, string>();
      for (const each of steps) {
        switch (each.kind) {
          case 'renew': {
            const holderIdentity = holders.get(each.name);
            if (!holderIdentity) break;
            leases.seeLease(each.name, { holderIdentity }, true);
            // Unless the Lease is settled, the controller decides after each renewal, and each decision marks the entry.
            if (!isSettled(`kube-system/${each.name}`)) board.touch(`kube-system/${each.name}`);
            break;
          }
          case 'hold':
            holders.set(each.name, each.candidate);
            leases.seeLease(each.name, { holderIdentity: each.candidate });
            break;
          case 'prefer': {
            const holderIdentity = holders.get(each.name) ?? '';
            leases.seeLease(each.name, { holderIdentity, preferredHolder: each.candidate });
            holders.delete(each.name);
            break;
          }
          case 'dropLease':
            holders.delete(each.name);
            leases.dropLease(each.name);
            break;
          case 'candidate': {
            const version = `1.${each.minor}.0`;
            leases.seeCandidate(each.name, each.candidate, {
              binaryVersion: version,
              emulationVersion: version,
            });
            break;
          }
          case 'dropCandidate':
            leases.dropCandidate(each.name, each.candidate);
            break;
          case 'wait':
            await clock.advance(each.ms);
            break;
          case 'refresh':
            board.refresh(each.count);
        }
      }
      board.refresh(1000);
      expect(entriesOf(board)).toEqual(entriesOf(openBoard()));
    }),
    { numRuns: 200 },
  );
});

const WALL_OFFSET_MS = Date.UTC(2026, 0, 1);

const older = makeCandidate('older').versions('1.35.0');

const newer = makeCandidate('newer').versions('1.36.0', '1.35.0');

describe('the entry of a Lease', () => {
  test.each<{
    name: string;
    input: InputBuilder;
    at: number;
    want: Partial<LeaseEntry>;
    wantUntil: number | undefined;
  }>([
    {
      name: 'led by the best candidate, until its holder would be late',
      input: makeInput().sees(makeLease('older'), 0).candidates(older.seenAt(0), newer.seenAt(0)),
      at: 1000,
      want: {
        key: 'kube-system/scheduler',
        holder: 'older',
        isHeld: true,
        strategy: 'OldestEmulationVersion',
        reason: 'LeaderOptimal',
        verdict: 'older leads, as it is the best candidate under OldestEmulationVersion.',
        transitions: 0,
        candidates: [
          {
            name: 'older',
            binary: '1.35.0',
            emulation: '1.35.0',
            priority: 0,
            state: 'Live',
            isHolder: true,
            isPreferred: false,
            renewedAt: WALL_OFFSET_MS - 60_000,
          },
          {
            name: 'newer',
            binary: '1.36.0',
            emulation: '1.35.0',
            priority: 0,
            state: 'Idle',
            lostBy: 'HigherBinaryVersion',
            isHolder: false,
            isPreferred: false,
            renewedAt: WALL_OFFSET_MS - 60_000,
          },
        ],
      },
      wantUntil: 7000,
    },
    {
      name: 'with the priorities of its candidates, until the first of them ends',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(newer.priority(5, 3000).seenAt(0), older.priority(-1).seenAt(0)),
      at: 1000,
      want: {
        verdict:
          'newer leads, as it is the best candidate under OldestEmulationVersion, for its higher priority.',
        candidates: [
          expect.objectContaining({ name: 'newer', priority: 5, priorityUntil: WALL_OFFSET_MS + 3000 }),
          expect.objectContaining({ name: 'older', priority: -1, lostBy: 'LowerPriority' }),
        ],
      },
      wantUntil: 3000,
    },
    {
      name: 'expired, since when, until its candidate has had time to answer',
      input: makeInput().sees(makeLease('older'), 0).candidates(newer.seenAt(0).pingedAt(12_000)),
      at: 12_000,
      want: { isHeld: false, isUnled: true, unledSince: WALL_OFFSET_MS + 10_000, reason: 'AwaitingAcks' },
      wantUntil: 17_000,
    },
    {
      name: 'held by one that is as good as another, which is older',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(
          newer.seenAt(0),
          newer.with({ name: 'first', uid: 'first' }).createdAt(-90_000).seenAt(0),
        ),
      at: 1000,
      want: {
        reason: 'LeaderOptimal',
        verdict: 'newer leads, as it is the best candidate under OldestEmulationVersion.',
        candidates: [
          expect.objectContaining({ name: 'newer', isHolder: true }),
          expect.objectContaining({ name: 'first', lostBy: 'AsGoodAsHolder' }),
        ],
      },
      wantUntil: 7000,
    },
    {
      name: 'missing, with an unseen deletion',
      input: makeInput().candidates(newer.seenAt(0).renewedAt(900)),
      at: 1000,
      want: {
        holder: '',
        isHeld: false,
        isUnled: true,
        reason: 'LeaseMissing',
        strategy: 'OldestEmulationVersion',
      },
      wantUntil: 5900,
    },
    {
      name: 'held on while another is preferred, by the second',
      input: makeInput()
        .sees(makeLease('newer').preferring('older'), 0)
        .candidates(older.seenAt(0).renewedAt(900), newer.seenAt(0)),
      at: 1000,
      want: {
        isHeld: true,
        preferredHolder: 'older',
        reason: 'PreemptionPending',
        waitingFor: 'newer to let it expire, in 9s',
      },
      wantUntil: 2000,
    },
    {
      name: 'fenced, by the second',
      input: makeInput().sees(makeLease(FENCE).lasting(15), 0).candidates(newer.seenAt(0).renewedAt(900)),
      at: 1000,
      want: {
        isUnled: true,
        unledSince: WALL_OFFSET_MS,
        reason: 'LeaseFenced',
        waitingFor: 'the end of a fence in 14s',
      },
      wantUntil: 2000,
    },
    {
      name: 'left alone as the candidates disagree',
      input: makeInput()
        .sees(makeLease('newer'), 0)
        .candidates(
          newer.seenAt(0),
          newer.with({ name: 'other', uid: 'other' }).wants('x/y').seenAt(0).renewedAt(900),
        ),
      at: 1000,
      want: { isHeld: true, reason: 'StrategyConflict' },
      wantUntil: 5900,
    },
    {
      name: 'without candidates, held until it expires',
      input: makeInput().sees(makeLease('gone'), 0),
      at: 1000,
      want: { holder: 'gone', isHeld: true, reason: 'NoCandidates', candidates: [] },
      wantUntil: 10_000,
    },
    {
      name: 'without candidates and expired, which is no problem',
      input: makeInput().sees(makeLease('gone'), 0),
      at: 11_000,
      want: {
        holder: 'gone',
        isHeld: false,
        reason: 'NoCandidates',
        verdict: expect.stringContaining('No candidate leads'),
      },
      wantUntil: undefined,
    },
  ])('is one $name', ({ input, at, want, wantUntil }) => {
    const { entry, until } = describeLease(input.build(), makeNow(at), WALL_OFFSET_MS);
    expect(entry).toMatchObject(want);
    expect([entry.isUnled, entry.unledSince]).toEqual([want.isUnled ?? false, want.unledSince]);
    expect(until).toBe(wantUntil);
  });

  test('stays the same while nothing happens, whatever the wall clock does', () => {
    const input = makeInput()
      .sees(makeLease('older'), 0)
      .candidates(older.seenAt(0), newer.seenAt(0))
      .build();
    const { entry } = describeLease(input, makeNow(1000.123), WALL_OFFSET_MS);
    expect(describeLease(input, makeNow(4321.9, 3_600_000), WALL_OFFSET_MS).entry).toEqual(entry);
  });
});

test('lists the first candidates if there are too many, and counts the others', () => {
  const many = Array.from({ length: MAX_CANDIDATES + 20 }, (_, at) =>
    makeCandidate(`c${at}`).versions(`1.36.${at}`).seenAt(0).renewedAt(900),
  );
  const input = makeInput()
    .candidates(...many)
    .build();
  const { entry } = describeLease(input, makeNow(1000), WALL_OFFSET_MS);
  expect(entry.candidates).toHaveLength(MAX_CANDIDATES);
  expect(entry.candidates[0]?.name).toBe('c0');
  expect(entry).toMatchObject({ total: entry.candidates.length + 20, silent: 0 });
});

describe('the tone of a Lease', () => {
  const calm = { isHeld: true, isUnled: false, preferredHolder: '', reason: 'LeaderOptimal' as const };
  const unled = { isHeld: false, isUnled: true };

  test.each<[Partial<LeaseEntry>, Tone]>([
    [{}, 'good'],
    [{ ...unled, reason: 'LeaseExpired' }, 'bad'],
    [{ ...unled, reason: 'StrategyConflict' }, 'bad'],
    [{ reason: 'StrategyConflict' }, 'warn'],
    [{ reason: 'PreemptionPending', preferredHolder: 'x' }, 'busy'],
    [{ reason: 'PreferredHolderLeads', preferredHolder: 'x' }, 'busy'],
    [{ reason: 'HolderLate' }, 'busy'],
    [{ reason: 'NoCandidates' }, 'quiet'],
    [{ reason: 'ThirdPartyStrategy' }, 'quiet'],
  ])('of %j is %s', (fields, want) => {
    expect(toneOf({ ...calm, ...fields })).toBe(want);
  });
});
