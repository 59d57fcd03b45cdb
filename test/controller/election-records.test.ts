import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { ElectionRecords } from '../../src/controller/election-records.ts';
import { reservationFor } from '../../src/election/beliefs.ts';
import { loseGrant } from '../../src/election/former-holders.ts';
import { allBeliefs, type Grant, noMemory } from '../../src/election/lease-memory.ts';
import {
  defaultSettings,
  makeCandidate,
  makeLease,
  makeNow,
  makeUnrenewedGrant,
  wallAt,
} from '../support/election-builders.ts';

const KEY = 'kube-system/scheduler';

let records: ElectionRecords;

beforeEach(() => {
  records = new ElectionRecords(defaultSettings);
});

function namesOf(key: string): readonly string[] {
  return records.gather(key).candidates.map(({ candidate }) => candidate.name);
}

describe('the index by Lease (rule 1)', () => {
  test('gathers only the candidates of one Lease', () => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.seeCandidate(makeCandidate('b').with({ leaseName: 'other' }).build(), makeNow(0));
    records.seeCandidate(makeCandidate('c').with({ namespace: 'default' }).build(), makeNow(0));
    expect(namesOf(KEY)).toEqual(['a']);
    expect(namesOf('kube-system/other')).toEqual(['b']);
    expect(namesOf('default/scheduler')).toEqual(['c']);
    expect(namesOf('default/nothing')).toEqual([]);
    expect([...records.contestedLeases()]).toEqual([KEY, 'kube-system/other', 'default/scheduler']);
  });

  test('returns the Leases of present and past elections', () => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    records.seeLease('default/abandoned', makeLease('x').build(), makeNow(0));
    records.seeLease(
      'default/preferring',
      makeLease('x').strategy(undefined).preferring('y').build(),
      makeNow(0),
    );
    records.seeLease('default/foreign', makeLease('x').strategy(undefined).build(), makeNow(0));
    expect([...records.coordinatedLeases()]).toEqual([KEY, 'default/abandoned', 'default/preferring']);
  });

  test('equals a full scan after any changes', () => {
    const step = fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd'),
      leaseName: fc.constantFrom('one', 'two'),
      isGone: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        records = new ElectionRecords(defaultSettings);
        const all = new Map<string, string>();
        for (const { name, leaseName, isGone } of steps) {
          const candidate = makeCandidate(name).with({ leaseName }).build();
          const former = all.get(name);
          if (former !== undefined && (isGone || former !== leaseName)) {
            records.dropCandidate(makeCandidate(name).with({ leaseName: former }).build(), makeNow(0));
            all.delete(name);
          }
          if (isGone) continue;
          records.seeCandidate(candidate, makeNow(0));
          all.set(name, leaseName);
        }
        for (const wanted of ['one', 'two']) {
          const scanned = [...all].filter(([, leaseName]) => leaseName === wanted).map(([name]) => name);
          expect(namesOf(`kube-system/${wanted}`).toSorted()).toEqual(scanned.toSorted());
          expect(records.hasCandidates(`kube-system/${wanted}`)).toBe(scanned.length > 0);
        }
      }),
    );
  });

  test('lists the Leases with a preferredHolder of ours', () => {
    records.seeLease(KEY, makeLease('a').preferring('b').build(), makeNow(0));
    records.seeLease('default/x', makeLease('a').preferring('b', false).build(), makeNow(0));
    expect([...records.leasesWithOwnPreference()]).toEqual([KEY]);
  });
});

describe('the observation of a candidate', () => {
  test('stays when it renews, and starts again with another uid', () => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.seeCandidate(makeCandidate('a').renewedAt(1000).build(), makeNow(1000));
    const [renewed] = records.gather(KEY).candidates;
    expect(renewed?.observation).toMatchObject({
      unchangedSince: 1000,
      ageAtFirstSightMs: 0,
      freshUntil: 6000,
    });
    records.seeCandidate(makeCandidate('a').with({ uid: 'another' }).build(), makeNow(2000));
    const [another] = records.gather(KEY).candidates;
    expect(another?.observation).toMatchObject({
      uid: 'another',
      unchangedSince: 2000,
      ageAtFirstSightMs: 62_000,
    });
  });

  test('is not dropped by late news about its deleted predecessor', () => {
    records.seeCandidate(makeCandidate('a').with({ uid: 'new' }).build(), makeNow(0));
    records.dropCandidate(makeCandidate('a').with({ uid: 'old' }).build(), makeNow(0));
    expect(namesOf(KEY)).toEqual(['a']);
  });

  test('changes only if it is still the same candidate', () => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.updateObservation(KEY, { name: 'a', uid: 'another' }, (known) => ({
      ...known,
      unansweredPings: 9,
    }));
    records.updateObservation(KEY, { name: 'b', uid: 'uid-of-b' }, (known) => ({
      ...known,
      unansweredPings: 9,
    }));
    expect(records.gather(KEY).candidates[0]?.observation.unansweredPings).toBe(0);
    records.updateObservation(KEY, { name: 'a', uid: 'uid-of-a' }, (known) => ({
      ...known,
      unansweredPings: 9,
    }));
    expect(records.gather(KEY).candidates[0]?.observation.unansweredPings).toBe(9);
  });
});

describe('the memory of a Lease', () => {
  test('knows the age of its record', () => {
    records.seeLease(KEY, makeLease('a').build(), makeNow(100));
    records.seeLease(KEY, makeLease('a').with({ resourceVersion: '2' }).build(), makeNow(200));
    expect(records.gather(KEY).memory.record).toMatchObject({ holder: 'a', since: 100 });
    expect(records.lease(KEY)?.resourceVersion).toBe('2');
  });

  test('outlives the Lease while its holder may believe that it leads', () => {
    records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    records.seeLease(KEY, undefined, makeNow(1000));
    // The holder may have renewed the Lease right before, with its own duration.
    const { beliefs } = records.gather(KEY).memory;
    expect(reservationFor(beliefs, 1000)).toMatchObject({ holder: 'a', until: 16_000 });
  });

  test('is dropped with the Lease and its last candidate', () => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.seeLease(KEY, makeLease('').build(), makeNow(0));
    records.updateMemory(KEY, (memory) => ({ ...memory, rounds: { count: 1, lastAt: 0 } }));
    records.seeLease(KEY, undefined, makeNow(0));
    expect(records.gather(KEY).memory.rounds.count).toBe(1);
    records.dropCandidate(makeCandidate('a').build(), makeNow(0));
    expect(records.gather(KEY).memory).toBe(noMemory);
    expect(records.size).toBe(0);
  });

  test.each([
    {
      grant: 'is on its way',
      memory: {
        grantOnItsWay: {
          ...makeUnrenewedGrant('a'),
          former: undefined,
          hasFormerLapsed: false,
          revises: undefined,
        },
      },
    },
    { grant: 'was answered', memory: { unrenewedGrant: makeUnrenewedGrant('a') } },
  ])('outlives an unseen Lease while a grant of it $grant', ({ memory }) => {
    records.seeCandidate(makeCandidate('a').build(), makeNow(0));
    records.updateMemory(KEY, (known) => ({ ...known, ...memory }));
    records.dropCandidate(makeCandidate('a').build(), makeNow(1000));
    // The Lease may have been created and renewed, and may be renewed until a list shows that it is gone.
    const { memory: kept } = records.gather(KEY);
    expect(reservationFor(allBeliefs(kept), 1000)).toMatchObject({ holder: 'a', until: 26_000 });
    records.seeLease('default/x', undefined, makeNow(60_000));
    expect(records.size).toBe(0);
  });

  test('does not grow with Leases that appear and disappear while they are held', () => {
    for (let node = 0; node < 1000; node++) {
      const now = makeNow(node * 1000);
      records.seeLease(`kube-node-lease/${node}`, makeLease('kubelet').build(), now);
      records.seeLease(`kube-node-lease/${node}`, undefined, now);
    }
    // The Leases of the last 30 s: their holders may believe that they lead, or disturb others.
    expect(records.size).toBe(30);
  });

  test('keeps a reservation of a deleted Lease if the Lease comes back', () => {
    records.seeLease(KEY, makeLease('a').build(), makeNow(0));
    records.seeLease(KEY, undefined, makeNow(1000));
    records.seeLease(KEY, makeLease('b').with({ uid: 'another' }).build(), makeNow(2000));
    records.seeLease('default/x', undefined, makeNow(60_000));
    expect(records.gather(KEY).memory.record).toMatchObject({ holder: 'b' });
  });
});

test('a creation without an answer counts after the end of a watch, also while its Lease has no candidates (rule 8)', () => {
  const grant: Grant = {
    ...{ holder: 'a', renewTime: wallAt(0), former: undefined, leaseDurationSeconds: 10 },
    ...{ hasFormerLapsed: false, revises: undefined, isPreemption: false },
  };
  records.seeCandidate(makeCandidate('a').build(), makeNow(0));
  records.updateMemory(KEY, (memory) => loseGrant({ ...memory, grantOnItsWay: grant }, 0));
  records.dropCandidate(makeCandidate('a').build(), makeNow(5000));
  records.seeWatchEnd('', makeNow(20_000));
  // Without the end of the watch, the memory would be dropped at this event.
  records.seeLease('default/other', undefined, makeNow(41_000));
  records.seeCandidate(makeCandidate('b').build(), makeNow(42_000));
  const { memory } = records.gather(KEY);
  expect(reservationFor(allBeliefs(memory), 43_000)).toMatchObject({ holder: 'a', until: 45_000 });
});
