import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionLog } from './election-log.ts';

describe('a log of elections', () => {
  let log: ElectionLog;

  beforeEach(() => {
    log = new ElectionLog();
  });

  function see(
    holderIdentity: string | undefined,
    at: number,
    type: 'MODIFIED' | 'DELETED' = 'MODIFIED',
  ): void {
    const metadata = { namespace: 'bench', name: 'one', uid: '', resourceVersion: '' };
    log.seeLease(type, { metadata, spec: holderIdentity === undefined ? {} : { holderIdentity } }, at);
  }

  test('begins a turn when the holder changes, and not when it renews', () => {
    see('one.30', 1);
    see('one.30', 2);
    see('', 3);
    see('one.31', 4);
    expect(log.turnsOf('one').map(({ holder, at }) => [holder, at])).toEqual([
      ['one.30', 1],
      ['', 3],
      ['one.31', 4],
    ]);
  });

  test('tells whether a holder has taken the Lease up', () => {
    see('one.30', 1);
    expect(log.turnsOf('one').at(-1)?.isTakenUp).toBe(false);
    see('one.30', 2);
    expect(log.turnsOf('one').at(-1)?.isTakenUp).toBe(true);
  });

  test.each([
    { name: 'a release', holder: '', type: 'MODIFIED' },
    { name: 'no holder', holder: undefined, type: 'MODIFIED' },
    { name: 'a deletion', holder: 'one.30', type: 'DELETED' },
  ] as const)('knows no holder after $name', ({ holder, type }) => {
    see('one.30', 1);
    see(holder, 2, type);
    expect(log.holderOf('one')).toBeUndefined();
  });

  test('remembers when candidates were first seen, and the first of each Lease', () => {
    log.seeCandidate('one.32', 5);
    log.seeCandidate('one.30', 7);
    log.seeCandidate('one.32', 9);
    expect(log.appearanceOf('one.32')).toBe(5);
    expect(log.firstAppearanceFor('one')).toBe(5);
    expect(log.appearanceOf('one.31')).toBe(Number.POSITIVE_INFINITY);
  });
});
