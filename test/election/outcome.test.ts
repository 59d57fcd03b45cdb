import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LeaseCandidate } from '../../src/election/model.ts';
import {
  decideOutcome,
  decisiveAmong,
  essentials,
  isSameOutcome,
  type Outcome,
} from '../../src/election/outcome.ts';
import { makeCandidate, NEWEST, OLDEST } from '../support/election-builders.ts';
import { agreedCandidates, candidatesWithStrategy, manyCandidates, someCandidates } from './arbitraries.ts';

// An independent oracle: slow, obvious, by brute force.

interface ReadVersion {
  readonly numbers: readonly number[];
  readonly preRelease: readonly string[];
}

function read(text: string | undefined): ReadVersion | undefined {
  const match = /^(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text ?? '');
  if (!match) return undefined;
  return {
    numbers: match.slice(1, 4).map(Number),
    preRelease: match[4] === undefined ? [] : match[4].split('.'),
  };
}

function compareVersions(a: ReadVersion, b: ReadVersion): number {
  for (const [index, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.preRelease.length === 0 || b.preRelease.length === 0)
    return b.preRelease.length - a.preRelease.length;
  for (const [index, part] of a.preRelease.entries()) {
    const other = b.preRelease[index];
    if (other === undefined) return 1;
    if (part === other) continue;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(part), /^\d+$/.test(other)];
    if (isNumber && isOtherNumber) return Number(part) - Number(other);
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    return part < other ? -1 : 1;
  }
  return a.preRelease.length - b.preRelease.length;
}

/** Ordered lists agree on X if X is first in every possible order. Tries all orders. */
function naiveStrategy(candidates: readonly LeaseCandidate[]): string | 'conflict' | undefined {
  const lists = candidates.flatMap(({ preference }) =>
    preference.kind === 'preferredStrategies' && preference.strategies.length > 0
      ? [preference.strategies]
      : [],
  );
  if (lists.length > 0) {
    const firsts = new Set(lists.map((list) => list[0]));
    if (firsts.size === 1) return lists[0]?.[0];
    const orders = permutations([...new Set(lists.flat())]).filter((order) =>
      lists.every((list) =>
        list.every(
          (item, index) => index === 0 || order.indexOf(list[index - 1] ?? '') < order.indexOf(item),
        ),
      ),
    );
    const possibleFirsts = new Set(orders.map((order) => order[0]));
    return possibleFirsts.size === 1 ? orders[0]?.[0] : 'conflict';
  }
  const votes = candidates.flatMap(({ preference, binaryVersion }) => {
    const version = read(binaryVersion);
    return version && preference.kind === 'strategy' && preference.strategy !== ''
      ? [{ version, strategy: preference.strategy }]
      : [];
  });
  const top = votes.filter((vote) =>
    votes.every((other) => compareVersions(vote.version, other.version) >= 0),
  );
  const named = new Set(top.map(({ strategy }) => strategy));
  return named.size > 1 ? 'conflict' : top[0]?.strategy;
}

function permutations(items: readonly string[]): readonly (readonly string[])[] {
  if (items.length <= 1) return [items];
  return items.flatMap((item) =>
    permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
  );
}

/** By the first version, then by the second. */
function compareAll(a: readonly ReadVersion[], b: readonly ReadVersion[]): number {
  const [difference = 0] = a
    .map((version, index) => compareVersions(version, b[index] ?? version))
    .filter((order) => order !== 0);
  return difference;
}

/** The outcome in a word. */
function naiveOutcome(candidates: readonly LeaseCandidate[]): string {
  const strategy = naiveStrategy(candidates);
  if (strategy === undefined) return 'none';
  if (strategy === 'conflict') return 'conflict';
  if (strategy !== OLDEST && strategy !== NEWEST) return `thirdParty ${strategy}`;
  const sign = strategy === OLDEST ? 1 : -1;
  const ranked = candidates
    .flatMap((candidate) => {
      const { binaryVersion, emulationVersion = strategy === NEWEST ? binaryVersion : undefined } = candidate;
      const [binary, emulation] = [read(binaryVersion), read(emulationVersion)];
      if (!binary || !emulation) return [];
      const versions = strategy === OLDEST ? [emulation, binary] : [binary, emulation];
      return [{ candidate, versions }];
    })
    .sort(
      (a, b) =>
        b.candidate.priority.value - a.candidate.priority.value ||
        sign * compareAll(a.versions, b.versions) ||
        Number((a.candidate.creationTimestamp ?? 1n << 62n) - (b.candidate.creationTimestamp ?? 1n << 62n)) ||
        (a.candidate.name < b.candidate.name ? -1 : 1),
    );
  const [best] = ranked;
  return best ? `leader ${best.candidate.name}` : `noneElectable ${strategy}`;
}

function inAWord(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'leader':
      return `leader ${outcome.leader.name}`;
    case 'thirdParty':
    case 'noneElectable':
      return `${outcome.kind} ${outcome.strategy}`;
    default:
      return outcome.kind;
  }
}

function isSettled(present: readonly LeaseCandidate[], absent: readonly LeaseCandidate[]): boolean {
  return decisiveAmong(present, absent).length === 0;
}

function subsets<T>(items: readonly T[]): readonly (readonly T[])[] {
  const [first, ...rest] = items;
  if (first === undefined) return [[]];
  return subsets(rest).flatMap((others) => [others, [first, ...others]]);
}

/** Two leaders with the same versions are equally good: builds, age and names do not count (rule 5). */
function naiveMerit(candidates: readonly LeaseCandidate[]): string {
  const outcome = naiveOutcome(candidates);
  const leader = candidates.find(({ name }) => outcome === `leader ${name}`);
  const strategy = naiveStrategy(candidates);
  return leader ? `leader of ${meritOf(leader, strategy)} under ${strategy}` : outcome;
}

function meritOf({ priority, binaryVersion, emulationVersion }: LeaseCandidate, strategy?: string): string {
  const emulated = strategy === NEWEST ? (emulationVersion ?? binaryVersion) : emulationVersion;
  return JSON.stringify([priority.value, read(binaryVersion), read(emulated)]);
}

function isNaivelySettled(present: readonly LeaseCandidate[], absent: readonly LeaseCandidate[]): boolean {
  return new Set(subsets(absent).map((added) => naiveMerit([...present, ...added]))).size === 1;
}

describe('the outcome of an election, against brute force (rules 4, 5 and 6)', () => {
  test('equals the result of sorting all candidates by hand', () => {
    fc.assert(
      fc.property(someCandidates, (candidates) => {
        expect(inAWord(decideOutcome(candidates))).toBe(naiveOutcome(candidates));
      }),
      { numRuns: 2000 },
    );
  });

  test('is final only if no set of further candidates could change it', () => {
    fc.assert(
      fc.property(someCandidates, fc.nat(5), (candidates, count) => {
        const [present, absent] = [candidates.slice(0, count), candidates.slice(count)];
        if (isSettled(present, absent)) expect(isNaivelySettled(present, absent)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test('is called settled whenever it is, unless the candidates conflict', () => {
    fc.assert(
      fc.property(someCandidates, fc.nat(5), (candidates, count) => {
        const [present, absent] = [candidates.slice(0, count), candidates.slice(count)];
        // The conflicting strategies are part of a reported conflict. With lists, an answer may not change the
        // result.
        fc.pre(naiveOutcome(present) !== 'conflict');
        if (isNaivelySettled(present, absent)) expect(isSettled(present, absent)).toBe(true);
      }),
      { numRuns: 3000 },
    );
  });

  test('waits for the candidates that would change it by themselves', () => {
    const many = fc.oneof(someCandidates, manyCandidates);
    fc.assert(
      fc.property(many, fc.nat(15), (candidates, count) => {
        const [present, absent] = [candidates.slice(0, count), candidates.slice(count)];
        const before = naiveMerit(present);
        fc.pre(before !== 'conflict');
        const changing = absent.filter((candidate) => naiveMerit([...present, candidate]) !== before);
        fc.pre(changing.length > 0);
        expect(decisiveAmong(present, absent)).toEqual(changing);
      }),
      { numRuns: 1000 },
    );
  });

  test('is the same with the omitted candidates that make no difference, whatever others take part', () => {
    fc.assert(
      fc.property(manyCandidates, someCandidates, fc.nat(30), (many, others, incumbent) => {
        const name = many[incumbent]?.name;
        const added = others.map((candidate) => ({ ...candidate, name: `other-${candidate.name}` }));
        expect(decideOutcome([...essentials(many, name), ...added], name)).toEqual(
          decideOutcome([...many, ...added], name),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test('keeps the incumbent unless another candidate has a better priority or version (rule 5)', () => {
    fc.assert(
      fc.property(agreedCandidates(OLDEST), fc.nat(5), (candidates, index) => {
        const incumbent = candidates[index];
        const outcome = decideOutcome(candidates, incumbent?.name);
        fc.pre(incumbent !== undefined && outcome.kind === 'leader');
        const isKept = outcome.kind === 'leader' && outcome.leader === incumbent;
        const isAsGood = naiveMerit(candidates) === naiveMerit(incumbent ? [incumbent] : []);
        expect(isKept).toBe(isAsGood);
      }),
      { numRuns: 1000 },
    );
  });

  test('leaves the incumbent in place under NewestVersion unless another has a higher priority (rule 5)', () => {
    fc.assert(
      fc.property(agreedCandidates(NEWEST), fc.nat(5), (candidates, index) => {
        const incumbent = candidates[index];
        const outcome = decideOutcome(candidates, incumbent?.name);
        fc.pre(incumbent !== undefined && outcome.kind === 'leader');
        const electable = candidates.filter((candidate) => naiveOutcome([candidate]).startsWith('leader'));
        const isHighest = electable.every(
          ({ priority }) => priority.value <= (incumbent?.priority.value ?? 0),
        );
        const isKept = outcome.kind === 'leader' && outcome.leader === incumbent;
        expect(isKept).toBe(isHighest && electable.includes(incumbent as LeaseCandidate));
      }),
      { numRuns: 1000 },
    );
  });

  test('waits, if the incumbent leads, only for candidates to which it would yield', () => {
    const agreed = fc.oneof(agreedCandidates(OLDEST), agreedCandidates(NEWEST));
    fc.assert(
      fc.property(agreed, fc.nat(5), fc.nat(5), (candidates, index, count) => {
        const [present, absent] = [candidates.slice(0, count), candidates.slice(count)];
        const incumbent = present[index]?.name;
        const outcome = decideOutcome(present, incumbent);
        fc.pre(outcome.kind === 'leader' && outcome.leader.name === incumbent);
        const changing = absent.filter((candidate) => {
          const after = decideOutcome([...present, candidate], incumbent);
          return after.kind !== 'leader' || after.leader.name !== incumbent;
        });
        expect(decisiveAmong(present, absent, incumbent)).toEqual(changing);
      }),
      { numRuns: 1000 },
    );
  });

  test('waits no longer than until a live candidate is better than all that may still answer', () => {
    fc.assert(
      fc.property(candidatesWithStrategy, (candidates) => {
        const outcome = decideOutcome(candidates);
        fc.pre(outcome.kind === 'leader');
        const top = candidates.filter(
          ({ preference }) => preference.kind === 'strategy' && preference.strategy === OLDEST,
        );
        fc.pre(top.length === candidates.length);
        const leader = outcome.kind === 'leader' ? [outcome.leader] : [];
        expect(
          isSettled(
            leader,
            candidates.filter((candidate) => candidate !== leader[0]),
          ),
        ).toBe(true);
      }),
    );
  });
});

describe('the representatives of a crowd', () => {
  const crowd = Array.from({ length: 30 }, (_, index) =>
    makeCandidate(`c${index}`).createdAt(index).versions('1.36.0').build(),
  );
  const namesOf = (candidates: readonly LeaseCandidate[]) => candidates.map(({ name }) => name).sort();

  test('are few: the best, all that affect the strategy, and the incumbent', () => {
    expect(namesOf(essentials(crowd, 'c7'))).toEqual(['c0', 'c29', 'c7']);
    expect(namesOf(essentials(crowd))).toEqual(['c0', 'c29']);
    const newer = makeCandidate('newer').versions('1.37.0').wants('example.com/x').build();
    expect(namesOf(essentials([...crowd, newer]))).toEqual(['c0', 'newer']);
    const undecided = makeCandidate('undecided').versions('1.38.0').wants('').build();
    expect(namesOf(essentials([...crowd, newer, undecided]))).toEqual(['c0', 'newer', 'undecided']);
    expect(namesOf(essentials(crowd.toReversed()))).toEqual(['c0']);
    const rival = makeCandidate('rival').versions('1.37.0').build();
    expect(namesOf(essentials([...crowd, newer, rival]))).toEqual(['c0', 'newer', 'rival']);
    const build = makeCandidate('build').versions('1.37.0+build').wants('example.com/z').build();
    expect(namesOf(essentials([...crowd, newer, build]))).toEqual(['build', 'c0', 'newer']);
    expect(namesOf(essentials([...crowd, build, newer]))).toEqual(['build', 'c0', 'newer']);
    const outdated = makeCandidate('outdated').versions('1.35.0', 'none').wants('example.com/y').build();
    expect(namesOf(essentials([...crowd, newer, outdated]))).toEqual(['c0', 'newer']);
  });

  test('are one for each list of strategies', () => {
    const list = (name: string, first: string) =>
      makeCandidate(name).createdAt(100).wantsInOrder(first, 'common').build();
    const lists = [list('l1', 'x'), list('l2', 'y'), list('l3', 'xcommon'), list('l4', 'x')];
    expect(namesOf(essentials([...crowd, ...lists]))).toEqual(['c0', 'c29', 'l2', 'l3', 'l4']);
    const beginning = makeCandidate('l0').createdAt(100).wantsInOrder('x').build();
    expect(namesOf(essentials([...crowd, ...lists, beginning]))).toContain('l4');
    const joined = makeCandidate('l5').createdAt(100).wantsInOrder('xcommon').build();
    expect(namesOf(essentials([...crowd, ...lists, joined]))).toContain('l4');
  });

  test('are no more than can be distinguished if thousands conflict', () => {
    const thousands = Array.from({ length: 5000 }, (_, index) => index);
    const named = thousands.map((index) => makeCandidate(`c${index}`).wants(`S${index}`).build());
    expect(essentials(named).length).toBeLessThan(1010);
    expect(decideOutcome(named).kind).toBe('conflict');
    const lists = thousands.map((index) =>
      makeCandidate(`c${index}`).wantsInOrder(`${index % 2}`, `S${index}`),
    );
    const few = essentials(lists.map((list) => list.build()));
    expect(few.length).toBeLessThan(1010);
    expect(decideOutcome(few)).toEqual({ kind: 'conflict', strategies: ['0', '1'] });
  });

  const listsOf = (count: number, ...first: readonly string[]) =>
    Array.from({ length: count }, (_, index) =>
      makeCandidate(`of-${first.join()}-${index}`)
        .wantsInOrder(...first, `S${index}`)
        .build(),
    );
  const below = [
    makeCandidate('below').wantsInOrder('x', 'y').build(),
    makeCandidate('y').wantsInOrder('y').build(),
  ];

  test('have the same result as all, with as many lists as are reconciled, and with one more', () => {
    const thousand = [...listsOf(998, 'x'), ...below];
    const resolved = { kind: 'thirdParty', strategy: 'x' };
    const atOdds = { kind: 'conflict', strategies: ['x', 'y'] };
    const another = makeCandidate('another').wantsInOrder('x', 'another').build();
    for (const [candidates, want] of [
      [thousand, resolved],
      [[...thousand, ...thousand], resolved],
      [[...thousand, another], atOdds],
      [[...listsOf(1000, 'x'), ...below, another], atOdds],
    ] as const) {
      expect(decideOutcome(candidates)).toEqual(want);
      expect(decideOutcome(essentials(candidates))).toEqual(want);
    }
  });

  test('have each first element of more lists than are reconciled, and no more than can be distinguished', () => {
    const many = listsOf(3000, 'x');
    const late = makeCandidate('late').wantsInOrder('z', 'x').build();
    expect(essentials([...many, late, late, ...below.slice(1)])).toHaveLength(1003);
    expect(decideOutcome(essentials([...many, late, ...below]))).toEqual({
      kind: 'conflict',
      strategies: ['x', 'y', 'z'],
    });
    expect(essentials(listsOf(3000))).toHaveLength(1001);
    expect(essentials([...listsOf(1001, 'x'), ...listsOf(2000)])).toHaveLength(2000);
  });

  test('are one for each strategy of the highest binaryVersion, at most a thousand', () => {
    const named = Array.from({ length: 3000 }, (_, index) =>
      makeCandidate(`c${index}`)
        .createdAt(index)
        .wants(`S${index % 1500}`)
        .build(),
    );
    expect(new Set(essentials(named).map(({ preference }) => JSON.stringify(preference))).size).toBe(1000);
    expect(essentials(named.slice(0, 1500)).length).toBe(1000);
  });

  test('are all if there are eight or fewer', () => {
    expect(essentials(crowd.slice(0, 8))).toHaveLength(8);
    expect(essentials(crowd.slice(0, 9))).toHaveLength(2);
  });
});

describe('isSameOutcome', () => {
  const list = (name: string, ...strategies: readonly string[]) =>
    makeCandidate(name)
      .wantsInOrder(...strategies)
      .build();
  const at = (strategy: string) => decideOutcome([makeCandidate('a').wants(strategy).build()]);

  test.each<{ name: string; a: Outcome; b: Outcome; want: boolean }>([
    {
      name: 'if the same strategies are at odds',
      a: decideOutcome([list('a', 'x'), list('b', 'y')]),
      b: decideOutcome([list('c', 'y'), list('d', 'x')]),
      want: true,
    },
    {
      name: 'not if others are',
      a: decideOutcome([list('a', 'x'), list('b', 'y')]),
      b: decideOutcome([list('a', 'x'), list('b', 'z')]),
      want: false,
    },
    { name: 'not under another strategy', a: at('example.com/x'), b: at('example.com/y'), want: false },
    { name: 'not with a leader and without one', a: at(OLDEST), b: decideOutcome([]), want: false },
    {
      name: 'not with a leader and with candidates that cannot be elected',
      a: at(OLDEST),
      b: decideOutcome([makeCandidate('a').emulating('none').build()]),
      want: false,
    },
    {
      name: 'not with a better leader',
      a: at(OLDEST),
      b: decideOutcome([makeCandidate('better').emulating('1.35.0').build()]),
      want: false,
    },
  ])('$name', ({ a, b, want }) => {
    expect(isSameOutcome(a, b)).toBe(want);
    expect(isSameOutcome(b, a)).toBe(want);
  });

  test('while lists conflict, every list that is not empty may resolve it, or cause it again', () => {
    const present = [list('a', 'x', 'y'), list('b', 'y', 'x')];
    const absent = [list('c', 'x', 'y'), makeCandidate('d').build(), list('empty')];
    expect(decisiveAmong(present, absent)).toEqual([absent[0]]);
  });
});

describe('of the candidates that have not answered', () => {
  const list = (name: string, ...strategies: readonly string[]) =>
    makeCandidate(name)
      .wantsInOrder(...strategies)
      .build();

  test('only those matter that are better than the best so far', () => {
    const better = makeCandidate('better').emulating('1.35.0').build();
    const absent = [makeCandidate('worse').versions('1.37.0').build(), better];
    expect(decisiveAmong([makeCandidate('best').build()], absent)).toEqual([better]);
  });

  test('those matter as well that ask for another strategy', () => {
    const better = makeCandidate('better').emulating('1.35.0').build();
    const newest = makeCandidate('newest').versions('1.40.0').wants('example.com/x').build();
    const best = makeCandidate('best').build();
    expect(decisiveAmong([best], [better, newest])).toEqual([better, newest]);
    expect(decisiveAmong([best], [newest, makeCandidate('equal').build()])).toEqual([newest]);
  });

  test('those with a list matter if they are better than the best so far', () => {
    const best = makeCandidate('best').wantsInOrder(OLDEST).build();
    const better = makeCandidate('better').wantsInOrder(OLDEST).emulating('1.35.0').build();
    expect(decisiveAmong([best], [better])).toEqual([better]);
  });

  test('one list is distinguished from another, however the names begin', () => {
    const [same, other] = [list('same', 'x', 'y'), list('other', 'xy')];
    expect(decisiveAmong([list('p', 'x')], [same, other])).toEqual([other]);
  });

  describe('of many lists', () => {
    const lists = (name: string, count: number) =>
      Array.from({ length: count }, (_, index) => list(`${name}${index}`, OLDEST, `${name}${index}`));
    const absent = lists('a', 120);

    test('none matters that begins like all others', () => {
      expect(decisiveAmong(lists('p', 500), absent)).toEqual([]);
      const other = list('other', 'x', OLDEST);
      expect(decisiveAmong(lists('p', 500), [...absent, other])).toEqual([other]);
    });

    test('one that begins like the merged order matters if it contradicts others', () => {
      const present = [list('p', 'y', 'x'), list('q', 'x', 'z')];
      const contrary = list('contrary', 'y', 'z', 'x');
      expect(decisiveAmong(present, [list('same', 'y', 'z'), contrary])).toEqual([contrary]);
    });

    test('each counts if there are too many to check', () => {
      const present = [...lists('p', 499), list('above', 'x', OLDEST)];
      expect(decisiveAmong(present, absent)).toEqual(absent.slice(100));
    });
  });

  test('all matter if only several together could change the result', () => {
    const present = [list('p', 'x', 'y'), list('q', 'y', 'z')];
    const [first, second] = [list('a', 'x', 'c', 'd'), list('b', 'y', 'd', 'c')];
    expect(decisiveAmong(present, [first])).toEqual([]);
    expect(decisiveAmong(present, [second])).toEqual([]);
    expect(decisiveAmong(present, [first, second])).toEqual([first, second]);
  });
});

describe('an early decision (rule 6)', () => {
  const oldest = makeCandidate('oldest').emulating('1.34.0').build();
  const middle = makeCandidate('middle').emulating('1.35.0').build();
  const newest = makeCandidate('newest').build();
  const newerWithOther = makeCandidate('other').versions('1.37.0').wants('example.com/other').build();
  const unreadable = makeCandidate('unreadable').versions('v1').build();

  test.each([
    { name: 'waits for none when all have answered', present: [newest], absent: [], want: true },
    {
      name: 'waits for none worse than the best that has answered',
      present: [oldest],
      absent: [middle, newest],
      want: true,
    },
    { name: 'waits for one that would be better', present: [middle, newest], absent: [oldest], want: false },
    {
      name: 'waits for one that could bring another strategy',
      present: [oldest],
      absent: [newerWithOther],
      want: false,
    },
    { name: 'waits when none has answered yet', present: [], absent: [oldest], want: false },
    {
      name: 'does not wait for one that cannot be elected anyway',
      present: [newest],
      absent: [unreadable],
      want: true,
    },
    {
      name: 'waits for one that could end a conflict',
      present: [newest, makeCandidate('c').wants('example.com/other').build()],
      absent: [newerWithOther],
      want: false,
    },
    {
      name: 'does not wait for one that does not affect a conflict',
      present: [newest, makeCandidate('c').wants('example.com/other').build()],
      absent: [oldest],
      want: true,
    },
    {
      name: 'has no electable one when only invalid ones are left',
      present: [unreadable],
      absent: [],
      want: true,
    },
  ])('$name', ({ present, absent, want }) => {
    expect(isSettled(present, absent)).toBe(want);
  });
});
