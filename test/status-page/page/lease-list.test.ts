import { beforeEach, describe, expect, test } from 'vitest';
import { type Filter, LeaseList } from '../../../src/status-page/page/lease-list.js';
import type { CandidateEntry, LeaseEntry } from '../../../src/status-page/wire.ts';

let list: LeaseList;

beforeEach(() => {
  list = new LeaseList();
});

function candidate(name: string, fields: Partial<CandidateEntry> = {}): CandidateEntry {
  return {
    name,
    binary: '1.36.0',
    emulation: '1.35.0',
    priority: 0,
    state: 'Idle',
    isHolder: false,
    isPreferred: false,
    renewedAt: 0,
    ...fields,
  };
}

function lease(key: string, fields: Partial<LeaseEntry> = {}): LeaseEntry {
  return {
    key,
    holder: 'somebody',
    isHeld: true,
    isUnled: false,
    preferredHolder: '',
    strategy: 'OldestEmulationVersion',
    reason: 'LeaderOptimal',
    tone: fields.isUnled ? 'bad' : 'good',
    verdict: '',
    transitions: 0,
    candidates: [],
    total: 1,
    silent: 0,
    ...fields,
  };
}

function take(...changed: readonly LeaseEntry[]): void {
  list.take({ changed, gone: [] });
}

function shown(query = '', filter: Filter = 'all'): readonly string[] {
  return list.select(query, filter).shown.map(({ key }) => key);
}

describe('the list', () => {
  test('is in the order of namespace and name, the urgent first', () => {
    take(
      lease('kube-system/b'),
      lease('kube/z'),
      lease('kube-system/a'),
      lease('kube.x/a'),
      lease('z/z', { isUnled: true }),
    );
    expect(shown()).toEqual(['z/z', 'kube/z', 'kube-system/a', 'kube-system/b', 'kube.x/a']);
  });

  test('moves a Lease when it has become urgent, or is not urgent any more', () => {
    take(lease('a/a'), lease('b/b'));
    take(lease('b/b', { isUnled: true }));
    expect(shown()).toEqual(['b/b', 'a/a']);
    take(lease('b/b'));
    expect(shown()).toEqual(['a/a', 'b/b']);
    expect(list.size).toBe(2);
  });

  test('has the last received state of each Lease', () => {
    take(lease('a/a', { holder: 'one' }));
    take(lease('a/a', { holder: 'two' }));
    expect(list.get('a/a')?.holder).toBe('two');
    expect([shown('one'), shown('two')]).toEqual([[], ['a/a']]);
  });

  test('removes deleted Leases', () => {
    take(lease('a/a'), lease('b/b'));
    list.take({ changed: [], gone: ['a/a', 'never/known'] });
    expect(shown()).toEqual(['b/b']);
  });
});

describe('the search', () => {
  beforeEach(() => {
    take(
      lease('kube-system/kube-scheduler', {
        holder: 'cp-1',
        candidates: [candidate('cp-1'), candidate('cp-2', { binary: '1.37.2', state: 'Unresponsive' })],
      }),
      lease('payments/ledger', { preferredHolder: 'ledger-b', reason: 'PreemptionPending' }),
      lease('payments/fraud', { strategy: 'example.com/Newest', reason: 'ThirdPartyStrategy' }),
    );
  });

  test.each([
    ['', ['kube-system/kube-scheduler', 'payments/fraud', 'payments/ledger']],
    ['payments', ['payments/fraud', 'payments/ledger']],
    ['payments/ledger', ['payments/ledger']],
    ['SCHED', ['kube-system/kube-scheduler']],
    ['cp-2', ['kube-system/kube-scheduler']],
    ['1.37', ['kube-system/kube-scheduler']],
    ['unresponsive', ['kube-system/kube-scheduler']],
    ['ledger-b', ['payments/ledger']],
    ['preemption', ['payments/ledger']],
    ['example.com', ['payments/fraud']],
    ['  newest   payments ', ['payments/fraud']],
    [' \t ', ['kube-system/kube-scheduler', 'payments/fraud', 'payments/ledger']],
    ['newest kube-system', []],
    ['<img onerror>', []],
  ])('for %j finds %j', (query, want) => {
    expect(shown(query)).toEqual(want);
  });

  test('does not find a word across two names', () => {
    expect(shown('schedulercp-1')).toEqual([]);
  });
});

test('filters show their names, and the numbers of their matches within the search', () => {
  take(
    lease('a/unled', { isUnled: true, isHeld: false }),
    lease('a/conflict', { reason: 'StrategyConflict' }),
    lease('a/changing', { preferredHolder: 'x' }),
    lease('b/silent', { silent: 1 }),
  );
  const names: readonly Filter[] = ['all', 'unled', 'conflict', 'changing', 'silent'];
  expect(
    names.map((name) =>
      shown('', name)
        .map((key) => key.slice(2))
        .join(),
    ),
  ).toEqual(['unled,changing,conflict,silent', 'unled', 'conflict', 'changing', 'silent']);
  const { count } = list.select('a/', 'all');
  expect(names.map(count)).toEqual([3, 1, 1, 1, 0]);
});
