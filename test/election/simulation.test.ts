import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SimElection } from '../support/sim-election.ts';

const NAMES = ['a', 'b', 'c', 'd'] as const;
const VERSIONS: readonly string[] = ['1.34.0', '1.35.0', '1.36.0-alpha.1', '1.36.0'];

type Step =
  | {
      readonly do: 'crash' | 'recover' | 'release' | 'remove' | 'stopCleanly' | 'renewCandidate';
      readonly who: number;
    }
  | { readonly do: 'cutOff'; readonly who: number; readonly releasesLateMs: number | undefined }
  | { readonly do: 'upgrade'; readonly who: number; readonly version: number }
  | { readonly do: 'add'; readonly who: number; readonly version: number; readonly answersAfterMs: number }
  | { readonly do: 'deleteLease' }
  | { readonly do: 'emptyLease' }
  | { readonly do: 'usurp'; readonly seconds: number }
  | { readonly do: 'shorten'; readonly seconds: number }
  | { readonly do: 'jumpWallClock'; readonly byMs: number };

interface TimedStep {
  readonly afterMs: number;
  readonly step: Step;
}

const who = fc.nat(NAMES.length - 1);
const version = fc.nat(VERSIONS.length - 1);

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      'crash' as const,
      'recover' as const,
      'release' as const,
      'remove' as const,
      'stopCleanly' as const,
      'renewCandidate' as const,
    ),
    who,
  }),
  fc.record({
    do: fc.constant('cutOff' as const),
    who,
    releasesLateMs: fc.constantFrom(undefined, -4000, 1, 4000),
  }),
  fc.record({ do: fc.constant('upgrade' as const), who, version }),
  fc.record({
    do: fc.constant('add' as const),
    who,
    version,
    answersAfterMs: fc.constantFrom(5, 100, 2000, 4900, 6000),
  }),
  fc.record({ do: fc.constant('deleteLease' as const) }),
  fc.record({ do: fc.constant('emptyLease' as const) }),
  fc.record({
    do: fc.constant('jumpWallClock' as const),
    byMs: fc.integer({ min: -3_600_000, max: 3_600_000 }),
  }),
);

/** The same, with writes of other clients to the holder's record. */
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: step },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('usurp' as const), seconds: fc.constantFrom(1, 15, 40) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('shorten' as const), seconds: fc.constantFrom(1, 5) }),
  },
);

// Most important events happen within seconds of each other, some only after minutes.
const pause = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 12_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 40_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 300_000 }) },
);

const world = fc.record({
  isWatchFirst: fc.boolean(),
  candidates: fc.array(
    fc.record({
      version,
      answersAfterMs: fc.constantFrom(5, 100, 2000, 4900),
      clockAheadMs: fc.constantFrom(0, 0, 90_000, -90_000),
      looksAtMs: fc.integer({ min: 0, max: 1999 }),
      elector: fc.constantFrom(
        'coordinated' as const,
        'coordinated' as const,
        'coordinated' as const,
        'none' as const,
      ),
    }),
    { minLength: 1, maxLength: NAMES.length },
  ),
  steps: fc.array(fc.record({ afterMs: pause, step: anyStep }), { maxLength: 20 }),
});

/** A world in which no other client keeps a Lease for longer than its holders do. */
const undisputedWorld = world.map((given) => ({
  ...given,
  steps: given.steps.filter(({ step }) => step.do !== 'usurp' && step.do !== 'shorten'),
}));

function nameOf(index: number): string {
  return NAMES[index] ?? 'a';
}

function versionOf(index: number): string {
  return VERSIONS[index] ?? '1.36.0';
}

function take(sim: SimElection, { afterMs, step }: TimedStep, untouchable?: string): void {
  sim.run(afterMs);
  if (step.do === 'deleteLease' || step.do === 'emptyLease') {
    if (sim.lease) sim[step.do]();
    return;
  }
  if (step.do === 'usurp' || step.do === 'shorten') {
    if (sim.lease?.holderIdentity) sim[step.do](step.seconds);
    return;
  }
  if (step.do === 'jumpWallClock') {
    sim.wallJumpMs += step.byMs;
    return;
  }
  const name = nameOf(step.who);
  if (name === untouchable) return;
  if (step.do === 'add') {
    // A program with the same name that still believes that it leads would be a second leader by its own fault.
    if (sim.believers.includes(name)) return;
    sim.add(name, {
      binary: '1.36.0',
      emulation: versionOf(step.version),
      answersAfterMs: step.answersAfterMs,
    });
    return;
  }
  if (!sim.candidateNames.includes(name)) return;
  if (step.do === 'upgrade') sim.upgrade(name, '1.36.0', versionOf(step.version));
  else if (step.do === 'cutOff') sim.cutOff(name, step.releasesLateMs);
  else sim[step.do](name);
}

function startWorld({
  isWatchFirst,
  candidates,
}: typeof world extends fc.Arbitrary<infer T> ? T : never): SimElection {
  const sim = new SimElection({ isWatchFirst });
  for (const [index, { version, ...options }] of candidates.entries()) {
    sim.add(nameOf(index), { binary: '1.36.0', emulation: versionOf(version), ...options });
  }
  return sim;
}

const numRuns = 150;

function failWith(sim: SimElection, complaint: string): never {
  expect.fail(`${complaint}\n\n${sim.transcript.join('\n')}`);
}

/** Ends as soon as a holder renews the Lease. Returns the time until then. */
function timeToLeader(sim: SimElection, atMostMs: number): number {
  const from = sim.at;
  while (sim.at - from <= atMostMs) {
    if (sim.liveHolder !== undefined && sim.believers.includes(sim.liveHolder)) break;
    sim.run(100);
  }
  return sim.at - from;
}

describe('any sequence of events', () => {
  test('never has two leaders, writes with an outdated resourceVersion, or pings without a possible answer (rules 2 and 8)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const sim = startWorld(given);
        for (const timed of given.steps) take(sim, timed);
        sim.run(120_000);
        if (sim.violations.length > 0) failWith(sim, sim.violations.join('\n'));
      }),
      { numRuns },
    );
  });

  test('has a leader soon after it ends, if one candidate has answered all the time (rules 3, 6 and 7)', () => {
    const steady = {
      version: 2,
      answersAfterMs: 100,
      clockAheadMs: 0,
      looksAtMs: 0,
      elector: 'coordinated',
    } as const;
    fc.assert(
      fc.property(undisputedWorld, (given) => {
        const sim = startWorld({ ...given, candidates: [steady, ...given.candidates.slice(1)] });
        for (const timed of given.steps) take(sim, timed, nameOf(0));
        // Each candidate that answers pings but takes up no grants may waste two grants, and two more waits.
        const idlers = given.candidates.slice(1).filter(({ elector }) => elector === 'none').length;
        const boundMs = 2 * 15_000 + 3 * 5000 + idlers * 2 * (10_000 + 5000);
        if (timeToLeader(sim, boundMs) > boundMs) failWith(sim, `nobody leads after ${boundMs} ms`);
      }),
      { numRuns },
    );
  });

  test('ends with the best candidate as leader and a settled Lease (rules 6, 7 and 9)', () => {
    fc.assert(
      fc.property(world, (given) => {
        const candidates = given.candidates.map((candidate) => ({
          ...candidate,
          elector: 'coordinated' as const,
        }));
        const sim = startWorld({ ...given, candidates });
        for (const timed of given.steps) {
          if (timed.step.do === 'add') take(sim, { ...timed, step: { ...timed.step, answersAfterMs: 100 } });
          else take(sim, timed);
        }
        // The longest backoff, after a crash loop.
        sim.run(25 * 60_000);
        const reachable = sim.reachableCandidates;
        if (reachable.length === 0) return;
        const best = reachable.toSorted(
          (a, b) => VERSIONS.indexOf(sim.emulationOf(a)) - VERSIONS.indexOf(sim.emulationOf(b)),
        );
        const decision = sim.decide();
        const holder = sim.lease?.holderIdentity;
        if (
          decision.reason !== 'LeaderOptimal' ||
          holder === undefined ||
          sim.emulationOf(holder) !== sim.emulationOf(best[0] ?? '')
        ) {
          failWith(sim, `${decision.reason}: ${holder} leads of ${reachable.join()}`);
        }
        const before = sim.actionsApplied;
        sim.run(60_000);
        expect(sim.actionsApplied - before, sim.transcript.join('\n')).toBeLessThanOrEqual(NAMES.length);
      }),
      { numRuns: 50 },
    );
  });
});
