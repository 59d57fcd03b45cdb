import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { Board } from '../../src/status-page/board.ts';
import type { LeaseEntry } from '../../src/status-page/wire.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimLeases } from './make-leases.ts';

let clock: VirtualClock;
let leases: SimLeases;
let board: Board;

beforeEach(() => {
  clock = new VirtualClock();
  leases = new SimLeases(clock);
  board = new Board(clock, leases);
});

function refresh(count = 1000): readonly string[] {
  board.gatherStale();
  return board.refresh(count);
}

function entriesOf(shown: Board): readonly LeaseEntry[] {
  return [...shown.keys()].toSorted().map((key) => JSON.parse(shown.text(key) ?? 'null') as LeaseEntry);
}

describe('the board', () => {
  test('shows what there was when it was opened, a Lease without candidates that names a strategy among it', () => {
    leases.seeLed('one');
    leases.seeLease('abandoned', { holderIdentity: 'x' });
    leases.seeLease('foreign', { holderIdentity: 'x', strategy: undefined });
    board.open();
    expect(refresh()).toEqual(['kube-system/one', 'kube-system/abandoned']);
    expect(entriesOf(board)).toMatchObject([
      { key: 'kube-system/abandoned', reason: 'NoCandidates', candidates: [] },
      { key: 'kube-system/one', reason: 'LeaderOptimal', holder: 'one-a', isHeld: true },
    ]);
  });

  test('looks at few Leases in one go, and says that there are more', () => {
    for (const name of ['a', 'b', 'c']) leases.seeLed(name);
    board.open();
    board.gatherStale();
    expect(board.refresh(2)).toHaveLength(2);
    expect({ isRefreshing: board.isRefreshing, isLoaded: board.isLoaded }).toEqual({
      isRefreshing: true,
      isLoaded: false,
    });
    expect(board.refresh(2)).toHaveLength(1);
    expect({ isRefreshing: board.isRefreshing, isLoaded: board.isLoaded }).toEqual({
      isRefreshing: false,
      isLoaded: true,
    });
  });

  test('looks once at a Lease that changes a hundred times', () => {
    leases.seeLed('one');
    board.open();
    refresh();
    leases.looks = 0;
    for (let at = 0; at < 100; at++) leases.seeCandidate('one', 'one-a');
    refresh();
    expect(leases.looks).toBe(1);
  });

  test('tells of a change once, and not of what looks the same', () => {
    leases.seeLed('one');
    board.open();
    refresh();
    leases.seeCandidate('one', 'one-c');
    expect(refresh()).toEqual(['kube-system/one']);
    board.touch('kube-system/one');
    expect(refresh()).toEqual([]);
  });

  test('does not look at all when a holder has merely renewed', async () => {
    leases.seeLed('one');
    board.open();
    refresh();
    await clock.advance(1000);
    leases.looks = 0;
    leases.seeLease('one', { holderIdentity: 'one-a' }, true);
    refresh();
    expect(leases.looks).toBe(0);
  });

  test('sees a Lease run out though nothing changes, and its holder come back', async () => {
    leases.seeLed('one');
    board.open();
    refresh();
    await clock.advance(9_999);
    refresh();
    expect(entriesOf(board)).toMatchObject([{ isHeld: true }]);
    await clock.advance(1);
    expect(refresh()).toEqual(['kube-system/one']);
    expect(entriesOf(board)).toMatchObject([
      { isHeld: false, isUnled: true, unledSince: Number(clock.wallTime() / 1000n) },
    ]);
    leases.seeLease('one', { holderIdentity: 'one-a' }, true);
    expect(refresh()).toEqual(['kube-system/one']);
    expect(entriesOf(board)).toMatchObject([{ isHeld: true }]);
  });

  test('tells of a Lease that is gone', () => {
    leases.seeLed('one');
    board.open();
    refresh();
    leases.dropCandidate('one', 'one-a');
    leases.dropCandidate('one', 'one-b');
    leases.dropLease('one');
    expect(refresh()).toEqual(['kube-system/one']);
    expect(board.text('kube-system/one')).toBeUndefined();
    expect(board.size).toBe(0);
  });

  test('listens only while it is open, and remembers nothing after that', () => {
    leases.seeLed('one');
    expect(leases.isListenedTo).toBe(false);
    board.open();
    refresh();
    board.close();
    expect({ isListenedTo: leases.isListenedTo, size: board.size }).toEqual({ isListenedTo: false, size: 0 });
    board.touch('kube-system/one');
    leases.looks = 0;
    refresh();
    expect(leases.looks).toBe(0);
  });
});

test('whatever happens, the board is what a new look at everything would show', async () => {
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
      board = new Board(clock, leases);
      board.open();
      const holders = new Map<string, string>();
      for (const each of steps) {
        switch (each.kind) {
          case 'renew': {
            const holderIdentity = holders.get(each.name);
            if (holderIdentity) leases.seeLease(each.name, { holderIdentity }, true);
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
            refresh(each.count);
        }
      }
      while (board.isRefreshing) board.refresh(100);
      refresh();
      const anew = new Board(clock, leases);
      const shown = entriesOf(board);
      anew.open();
      anew.gatherStale();
      anew.refresh(1000);
      expect(shown).toEqual(entriesOf(anew));
    }),
    { numRuns: 200 },
  );
});
