import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Lease } from '../../src/election/model.ts';
import {
  decideElector,
  type ElectorStep,
  type ElectorView,
  hasExpired,
  holderSeen,
  isRenewedByRival,
  isTaken,
  type LeaseSight,
  lapsesAt,
  nextFencingToken,
  observe,
} from '../../src/participant/elector-decision.ts';

const NOW = 100_000;
const timing = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 };

function makeLease(fields: Partial<Lease> = {}): Lease {
  return {
    namespace: 'default',
    name: 'checkout',
    uid: 'uid',
    resourceVersion: '1',
    holderIdentity: 'me',
    preferredHolder: undefined,
    isPreferredHolderOurs: false,
    strategy: 'OldestEmulationVersion',
    leaseDurationSeconds: 15,
    leaseTransitions: 4,
    acquireTime: 1n,
    renewTime: 2n,
    ...fields,
  };
}

function sightOf(lease: Lease | undefined, agoMs = 1000): LeaseSight {
  const maxTransitions = lease?.leaseTransitions ?? -1;
  return { lease, since: NOW - agoMs, maxTransitions, isTokenUnused: true };
}

function makeView(fields: Partial<ElectorView> = {}): ElectorView {
  return {
    identity: 'me',
    timing,
    sight: sightOf(makeLease()),
    term: undefined,
    refusal: undefined,
    hasRival: false,
    isRequestInFlight: false,
    retryAt: Number.NEGATIVE_INFINITY,
    releaseDeadline: Number.POSITIVE_INFINITY,
    ...fields,
  };
}

/** Returns a term whose last renewal was sent `agoMs` ago. */
function termOf(agoMs: number, isOver = false) {
  return { fencingToken: 4, renewedAt: NOW - agoMs, isOver };
}

/** Returns a step as text, with its reason, fencing token, or the time it waits in milliseconds. */
function inShort(step: ElectorStep): string {
  switch (step.kind) {
    case 'await':
      return step.until === Number.POSITIVE_INFINITY ? 'await' : `await ${step.until - NOW}`;
    case 'end':
      return `end ${step.why}`;
    case 'takeUp':
    case 'renew':
      return `${step.kind} ${step.fencingToken}`;
    default:
      return step.kind;
  }
}

interface Row {
  readonly name: string;
  readonly view: Partial<ElectorView>;
  readonly want: string;
}

const preferred = sightOf(makeLease({ preferredHolder: 'other' }));
const others = sightOf(makeLease({ holderIdentity: 'other' }));

describe('an elector that does not lead (rule 15)', () => {
  test.each<Row>([
    { name: 'knows nothing of the Lease yet', view: { sight: undefined }, want: 'await' },
    { name: 'sees no Lease', view: { sight: sightOf(undefined) }, want: 'await' },
    {
      name: 'sees that the Lease has no holder',
      view: { sight: sightOf(makeLease({ holderIdentity: '' })) },
      want: 'await 14000',
    },
    { name: 'sees another holder', view: { sight: others }, want: 'await 14000' },
    { name: 'sees another holder that has expired', view: { sight: { ...others, since: 0 } }, want: 'await' },
    { name: 'is the holder', view: {}, want: 'takeUp 4' },
    {
      name: 'is the holder, with leaseTransitions that may be the token of an earlier term',
      view: { sight: { ...sightOf(makeLease()), isTokenUnused: false } },
      want: 'takeUp 5',
    },
    {
      name: 'is the holder, of a Lease that has had greater leaseTransitions',
      view: { sight: { ...sightOf(makeLease()), isTokenUnused: false, maxTransitions: 9 } },
      want: 'takeUp 10',
    },
    {
      name: 'is the holder, of a Lease without a duration',
      view: { sight: sightOf(makeLease({ leaseDurationSeconds: undefined })) },
      want: 'takeUp 4',
    },
    { name: 'is the holder, and has expired', view: { sight: sightOf(makeLease(), 15_000) }, want: 'await' },
    {
      name: 'is the holder, and about to expire',
      view: { sight: sightOf(makeLease(), 14_999) },
      want: 'takeUp 4',
    },
    { name: 'is the holder, and was refused just now', view: { retryAt: NOW + 500 }, want: 'await 500' },
    {
      name: 'is the holder, and will have expired before it may ask again',
      view: { retryAt: NOW + 500, sight: sightOf(makeLease(), 14_900) },
      want: 'await 100',
    },
    { name: 'is the holder, and has a request in flight', view: { isRequestInFlight: true }, want: 'await' },
    { name: 'is the holder, but another program is meant', view: { hasRival: true }, want: 'await 14000' },
    { name: 'is the holder, and another is preferred', view: { sight: preferred }, want: 'release' },
    {
      name: 'is the holder, and is itself preferred',
      view: { sight: sightOf(makeLease({ preferredHolder: 'me' })) },
      want: 'takeUp 4',
    },
    { name: 'is the holder, and is not to lead', view: { refusal: 'resigned' }, want: 'release' },
    {
      name: 'is the holder, is not to lead, and could not release for long enough',
      view: { refusal: 'stopped', releaseDeadline: NOW, sight: sightOf(makeLease(), 10_000) },
      want: 'rest',
    },
    {
      name: 'is the holder, should not lead, and got the Lease long after it was told so',
      view: { refusal: 'resigned', releaseDeadline: NOW - 60_000 },
      want: 'release',
    },
    {
      name: 'is not to lead, and still waits for an answer',
      view: { refusal: 'stopped', isRequestInFlight: true },
      want: 'await',
    },
    {
      name: 'is not to lead, and another holds the Lease',
      view: { refusal: 'stopped', sight: others },
      want: 'rest',
    },
    {
      name: 'is not to lead, and its own record has expired',
      view: { refusal: 'stopped', sight: sightOf(makeLease(), 15_000) },
      want: 'rest',
    },
    {
      name: 'is not to lead, and knows nothing yet',
      view: { refusal: 'stopped', sight: undefined },
      want: 'rest',
    },
    {
      name: 'is not to lead, and another program is meant',
      view: { refusal: 'resigned', hasRival: true },
      want: 'rest',
    },
  ])('and $name: $want', ({ view, want }) => {
    expect(inShort(decideElector(makeView(view), NOW))).toBe(want);
  });
});

describe('an elector that leads (rule 15)', () => {
  test.each<Row>([
    { name: 'has just renewed', view: { term: termOf(500) }, want: 'await 1500' },
    { name: 'has renewed a retry period ago', view: { term: termOf(2000) }, want: 'renew 4' },
    {
      name: 'has a renewal under way',
      view: { term: termOf(2000), isRequestInFlight: true },
      want: 'await 8000',
    },
    { name: 'was refused just now', view: { term: termOf(2000), retryAt: NOW + 300 }, want: 'await 300' },
    {
      name: 'may not ask again before its deadline',
      view: { term: termOf(9000), retryAt: NOW + 3000 },
      want: 'await 1000',
    },
    { name: 'has not renewed for the renew deadline', view: { term: termOf(10_000) }, want: 'end lost' },
    {
      name: 'has a renewal under way for too long',
      view: { term: termOf(10_000), isRequestInFlight: true },
      want: 'end lost',
    },
    {
      name: 'sees that the Lease is deleted',
      view: { term: termOf(2000), sight: sightOf(undefined) },
      want: 'await 8000',
    },
    { name: 'sees another holder', view: { term: termOf(500), sight: others }, want: 'end lost' },
    {
      name: 'sees itself, with leaseTransitions that it has not written',
      view: { term: termOf(500), sight: sightOf(makeLease({ leaseTransitions: 6 })) },
      want: 'end lost',
    },
    {
      name: 'sees itself in a re-created Lease with lower leaseTransitions',
      view: { term: termOf(2000), sight: sightOf(makeLease({ leaseTransitions: 0 })) },
      want: 'renew 4',
    },
    {
      name: 'sees a record whose duration was shortened, and that has expired',
      view: { term: termOf(2000), sight: sightOf(makeLease({ leaseDurationSeconds: 1 })) },
      want: 'end lost',
    },
    { name: 'sees another preferred', view: { term: termOf(500), sight: preferred }, want: 'end yielded' },
    { name: 'resigns', view: { term: termOf(500), refusal: 'resigned' }, want: 'end resigned' },
    { name: 'is stopped', view: { term: termOf(500), refusal: 'stopped' }, want: 'end stopped' },
    {
      name: 'is stopped when it has lost the Lease',
      view: { term: termOf(500), refusal: 'stopped', sight: others },
      want: 'end lost',
    },
    {
      name: 'was told to end, and has not: it wakes up when its term has expired',
      view: { term: termOf(5000, true), refusal: 'resigned', sight: preferred },
      want: 'await 10000',
    },
    {
      name: 'was told to end, and has not for longer than it may',
      view: { term: termOf(15_000, true) },
      want: 'await',
    },
  ])('and $name: $want', ({ view, want }) => {
    expect(inShort(decideElector(makeView(view), NOW))).toBe(want);
  });
});

describe('a Lease under this identity', () => {
  test.each([
    { name: 'renewed with the fencing token of the term', fields: {}, want: false },
    { name: 'renewed with greater leaseTransitions', fields: { leaseTransitions: 5 }, want: true },
    {
      name: 'granted with greater leaseTransitions',
      fields: { leaseTransitions: 5, renewTime: 1n },
      want: false,
    },
    {
      name: 'granted back to its former holder with greater leaseTransitions, and with an earlier acquireTime',
      fields: { leaseTransitions: 5, isRenewedByCoordinator: true as const },
      want: false,
    },
    { name: 'of another holder', fields: { leaseTransitions: 5, holderIdentity: 'other' }, want: false },
  ])('$name is renewed by another program: $want', ({ fields, want }) => {
    expect(isRenewedByRival(makeLease(fields), 'me', 4)).toBe(want);
  });
});

const instants = fc.integer({ min: NOW - 20_000, max: NOW + 20_000 });
const sights = fc.option(
  fc.record({
    lease: fc.option(
      fc
        .record({
          holderIdentity: fc.constantFrom('me', 'other', '', undefined),
          preferredHolder: fc.constantFrom('me', 'other', undefined),
          leaseDurationSeconds: fc.constantFrom(1, 10, 15, undefined),
          leaseTransitions: fc.integer({ min: 0, max: 9 }),
        })
        .map(makeLease),
      { nil: undefined },
    ),
    since: instants,
    maxTransitions: fc.integer({ min: 9, max: 12 }),
    isTokenUnused: fc.boolean(),
  }),
  { nil: undefined },
);
const views: fc.Arbitrary<ElectorView> = fc.record({
  identity: fc.constant('me'),
  timing: fc.constant(timing),
  sight: sights,
  term: fc.option(
    fc.record({ fencingToken: fc.integer({ min: 0, max: 9 }), renewedAt: instants, isOver: fc.boolean() }),
    { nil: undefined },
  ),
  refusal: fc.constantFrom('resigned' as const, 'stopped' as const, undefined),
  hasRival: fc.boolean(),
  isRequestInFlight: fc.boolean(),
  retryAt: instants,
  releaseDeadline: instants,
});

describe('an elector in any state (rule 15)', () => {
  const always = (holds: (view: ElectorView, step: ElectorStep) => boolean) =>
    fc.assert(
      fc.property(views, (view) => holds(view, decideElector(view, NOW))),
      { numRuns: 2000 },
    );

  test('only writes a Lease that it holds and has not seen expire, one request at a time', () => {
    always(({ sight, isRequestInFlight, retryAt }, { kind }) => {
      if (kind !== 'takeUp' && kind !== 'renew' && kind !== 'release') return true;
      const isOurs = sight?.lease?.holderIdentity === 'me' && !hasExpired(sight, NOW);
      return isOurs && !isRequestInFlight && retryAt <= NOW;
    });
  });

  test('never renews while another is preferred or it should not lead', () => {
    always(({ sight, refusal }, { kind }) => {
      if (kind !== 'takeUp' && kind !== 'renew') return true;
      const { preferredHolder = 'me' } = sight?.lease ?? {};
      return preferredHolder === 'me' && refusal === undefined;
    });
  });

  test('neither releases nor renews a grant while its program may still act as leader', () => {
    always(({ term }, { kind }) => !term || (kind !== 'release' && kind !== 'takeUp'));
  });

  test('tells its program to stop as soon as the deadline has passed or another has the Lease', () => {
    always((view, { kind }) => {
      const { term } = view;
      if (!term || term.isOver) return kind !== 'end';
      const hasToEnd = NOW >= term.renewedAt + timing.renewDeadlineMs || isTaken(view, term);
      return !hasToEnd || kind === 'end';
    });
  });

  test('wakes up before the Lease of a term expires', () => {
    always(({ term }, step) => {
      if (!term || term.isOver || step.kind !== 'await') return true;
      return step.until < lapsesAt(term, timing);
    });
  });

  test('never waits for a past time', () => {
    always((_, step) => step.kind !== 'await' || step.until > NOW);
  });
});

/** Returns a Lease that was granted, and not renewed yet. */
function granted(fields: Partial<Lease> = {}): Lease {
  return makeLease({ leaseDurationSeconds: 10, leaseTransitions: 3, renewTime: 1n, ...fields });
}

/** Returns the sight after seeing these Leases, one per second. */
function seen(...leases: readonly (Lease | undefined)[]): LeaseSight {
  const [first, ...rest] = leases;
  return rest.reduce(
    (sight, next, index) => observe(sight, next, (index + 1) * 1000),
    observe(undefined, first, 0),
  );
}

describe('a record', () => {
  test.each([
    { name: 'seen once', leases: [granted()], want: 0 },
    { name: 'seen again unchanged', leases: [granted(), granted()], want: 0 },
    {
      name: 'of which only other fields have changed',
      leases: [granted(), granted({ preferredHolder: 'b' })],
      want: 0,
    },
    { name: 'that was renewed', leases: [granted(), granted({ renewTime: 3n })], want: 1000 },
    { name: 'of another holder', leases: [granted(), granted({ holderIdentity: 'b' })], want: 1000 },
    { name: 'with another duration', leases: [granted(), granted({ leaseDurationSeconds: 1 })], want: 1000 },
    {
      name: 'with other leaseTransitions',
      leases: [granted(), granted({ leaseTransitions: 4 })],
      want: 1000,
    },
    { name: 'of a re-created Lease', leases: [granted(), granted({ uid: 'other' })], want: 1000 },
  ])('$name counts from when it was first seen', ({ leases, want }) => {
    expect(seen(...leases).since).toBe(want);
  });

  test('names a holder until it has been unchanged for its duration', () => {
    const sight = seen(granted());
    expect(holderSeen(sight, 9999)).toBe('me');
    expect(holderSeen(sight, 10_000)).toBeUndefined();
    expect(holderSeen(undefined, 0)).toBeUndefined();
    expect(holderSeen(seen(granted({ holderIdentity: '' })), 0)).toBeUndefined();
  });
});

describe('the fencing token of a term (rule 15)', () => {
  const free = granted({ leaseTransitions: 2, holderIdentity: '' });
  test.each([
    { name: 'that of a grant that was seen to raise leaseTransitions', leases: [free, granted()], want: 3 },
    {
      name: 'that of the first grant of a Lease that was seen to be absent',
      leases: [undefined, granted({ leaseTransitions: 0 })],
      want: 0,
    },
    {
      name: 'that of the grant when only other fields have changed since',
      leases: [free, granted(), granted({ preferredHolder: 'me' })],
      want: 3,
    },
    { name: 'one more than in the first record that is seen', leases: [granted()], want: 4 },
    {
      name: 'one more if the grant has been renewed',
      leases: [free, granted({ renewTime: 3n })],
      want: 4,
    },
    {
      name: 'one more once the grant was renewed',
      leases: [free, granted(), granted({ renewTime: 3n })],
      want: 4,
    },
    {
      name: 'one more if the grant has not raised leaseTransitions',
      leases: [granted({ holderIdentity: 'b' }), granted()],
      want: 4,
    },
    {
      name: 'one more if the grant has no acquireTime',
      leases: [free, granted({ acquireTime: undefined })],
      want: 4,
    },
    {
      name: 'above all that were seen, although the Lease was re-created',
      leases: [granted(), undefined, granted({ leaseTransitions: 0, uid: 'b' })],
      want: 4,
    },
    {
      name: 'not above the maximum of the API',
      leases: [granted({ leaseTransitions: 2 ** 31 - 1 })],
      want: 2 ** 31 - 1,
    },
  ])('is $name', ({ leases, want }) => {
    expect(nextFencingToken(seen(...leases))).toBe(want);
  });
});
