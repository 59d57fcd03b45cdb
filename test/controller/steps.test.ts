import { describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { FairKeys, RequestRoom } from '../../src/controller/order-and-limit.ts';
import type { Clock } from '../../src/support/clock.ts';
import { DueKeys } from '../../src/support/due-keys.ts';
import { countedSteps, tooFastGrowth } from '../support/counted-steps.ts';
import { defaultSettings, makeCandidate, makeLease, makeNow } from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';
const MANY = 10_000;

/** Records of a Lease with this many candidates, beside this many Leases with one candidate each. */
function makeRecords(candidates: number, others: number): ElectionRecords {
  const records = new ElectionRecords(defaultSettings);
  records.seeLease(KEY, makeLease('candidate-0').build(), makeNow(0));
  for (let index = 0; index < candidates; index++)
    records.seeCandidate(makeCandidate(`candidate-${index}`).build(), makeNow(0));
  for (let index = 0; index < others; index++) {
    const leaseName = `other-${index}`;
    records.seeLease(`default/${leaseName}`, makeLease('one').build(), makeNow(0));
    const candidate = makeCandidate('one').with({ namespace: 'default', leaseName, uid: leaseName });
    records.seeCandidate(candidate.build(), makeNow(0));
  }
  return records;
}

describe('the work for one Lease takes as many steps among 10,000 others as alone (rule 1)', () => {
  const later = makeNow(1000);
  test.each<[string, (records: ElectionRecords) => void]>([
    ['gathering it', (records) => records.gather(KEY)],
    [
      'seeing it renewed',
      (records) => records.seeLease(KEY, makeLease('candidate-0').renewedAt(1000).build(), later),
    ],
    ['seeing it deleted', (records) => records.seeLease(KEY, undefined, later)],
    [
      'seeing a candidate of it renewed',
      (records) => records.seeCandidate(makeCandidate('candidate-0').renewedAt(1000).build(), later),
    ],
    [
      'seeing a candidate of it deleted',
      (records) => records.dropCandidate(makeCandidate('candidate-0').build(), later),
    ],
  ])('%s', (_name, work) => {
    const steps = (others: number) => {
      const records = makeRecords(3, others);
      return countedSteps(() => work(records));
    };
    // So that one-time work is done.
    steps(0);
    expect(steps(MANY)).toBe(steps(0));
  });
});

describe('for a Lease with a crowd of candidates', () => {
  test('gathering takes steps in proportion to their number', () => {
    expect(
      tooFastGrowth((count) => {
        const records = makeRecords(count, 0);
        return () => records.gather(KEY);
      }),
    ).toEqual([]);
  });

  test('gathering its holder, and a new, renewed or deleted candidate, takes as many steps as with a few', () => {
    const steps = (count: number) => {
      const records = makeRecords(count, 0);
      return countedSteps(() => {
        records.gatherHolder(KEY);
        records.seeCandidate(makeCandidate('new').build(), makeNow(1000));
        records.seeCandidate(makeCandidate('new').renewedAt(1000).build(), makeNow(1000));
        records.dropCandidate(makeCandidate('new').build(), makeNow(1000));
      });
    };
    steps(1);
    expect(steps(MANY)).toBe(steps(1));
  });
});

/** A clock that a test sets. The last timer fires on request. */
class SetClock implements Clock {
  time = 0;
  fire = () => {};
  readonly now = () => this.time;

  wallTime(): bigint {
    return BigInt(this.time) * 1000n;
  }

  setTimer(callback: () => void): () => void {
    this.fire = callback;
    return () => {};
  }

  random(): number {
    return 0.5;
  }
}

const names = (count: number) => Array.from({ length: count }, (_, index) => `lease-${index}`);

describe('a queue takes the same number of steps for each key at any size, up to a logarithm', () => {
  test('with due keys, now or later', () => {
    expect(
      tooFastGrowth((count) => {
        const clock = new SetClock();
        const due = new DueKeys({ clock, onDue: () => {} });
        const keys = names(count);
        return () => {
          for (const [index, key] of keys.entries()) due.setDeadline(key, 1 + ((index * 7919) % count));
          clock.time = count + 1;
          clock.fire();
          for (const _ of keys) {
            const key = due.take()?.key ?? '';
            due.add(key);
            due.setDeadline(key, clock.time + 1000);
          }
          for (const _ of keys) due.take();
        };
      }),
    ).toEqual([]);
  });

  test.each([
    ['of one namespace', () => 'default'],
    ['of as many namespaces', (name: string) => name],
  ])('of writes to Leases %s', (_name, namespaceOf) => {
    expect(
      tooFastGrowth((count) => {
        const keys = names(count).map((name) => `${namespaceOf(name)}/${name}`);
        const ends: ((isAnswered: boolean) => void)[] = [];
        const room = new RequestRoom(new SetClock(), 32);
        return () => {
          for (const [index, key] of keys.entries()) room.wait(key, 'vacant', index);
          // Added again, with a higher urgency.
          for (const [index, key] of keys.entries())
            room.wait(key, index % 3 === 0 ? 'grant' : 'expiry', index);
          for (const [index, key] of keys.entries()) if (index % 5 === 0) room.stopWaiting(key);
          for (let key = room.next(); key !== undefined; key = room.next()) {
            ends.push(room.begin(key), room.begin(key));
            for (let end = ends.pop(); end; end = ends.pop()) end(true);
          }
        };
      }),
    ).toEqual([]);
  });

  test('with turns of namespaces', () => {
    expect(
      tooFastGrowth((count) => {
        const turns = new FairKeys();
        const keys = names(count);
        return () => {
          for (const key of keys) turns.set(key, key, 0, 0);
          for (const key of keys) {
            turns.shift();
            turns.set(key, key, 1, 0);
          }
        };
      }),
    ).toEqual([]);
  });
});
