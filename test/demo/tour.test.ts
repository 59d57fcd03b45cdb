import { describe, expect, test } from 'vitest';
import type { Condition, DemoState } from '../../src/demo/demo-state.ts';
import type { DemoCommands } from '../../src/demo/sample-cast.ts';
import { runTour, TourError, type TourStep, type TourWorld, tourScript } from '../../src/demo/tour.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { SimDemo } from './make-demo.ts';
import { makeLease, makeRow, makeState } from './make-state.ts';

/** Runs a tour to its end on a virtual clock. Resolves to its output and its error. */
async function tour(
  world: TourWorld,
  clock: VirtualClock,
  steps: readonly TourStep[],
  signal = new AbortController().signal,
): Promise<{ said: readonly string[]; error: unknown; tookMs: number }> {
  const said: string[] = [];
  const startedAt = clock.now();
  let end: { error: unknown } | undefined;
  const running = runTour({
    world,
    clock,
    steps,
    leaseDurationMs: 4000,
    say: (line) => said.push(line),
    signal,
  }).then(
    () => {
      end = { error: undefined };
    },
    (error: unknown) => {
      end = { error };
    },
  );
  await clock.runUntil(() => end !== undefined, 600_000);
  await running;
  return { said, error: end?.error, tookMs: clock.now() - startedAt };
}

/** A world in which each command has a scripted effect, and nothing else happens. */
class ScriptedWorld implements TourWorld {
  current: DemoState = makeState();
  readonly commands: DemoCommands;

  constructor(effects: Partial<DemoCommands> = {}) {
    const nothing = async () => {};
    this.commands = {
      killLeader: nothing,
      pauseOrResume: nothing,
      addOlder: nothing,
      conflictOrResolve: nothing,
      restartCrashed: nothing,
      ...effects,
    };
  }

  state(): DemoState {
    return this.current;
  }
}

function rows(...conditions: readonly (readonly [name: string, condition: Condition])[]) {
  return conditions.map(([name, condition]) => makeRow({ name, condition }));
}

const start = async () => {};

describe('the tour', () => {
  test('plays all its steps in the real world', async () => {
    const demo = new SimDemo();
    const { said, error, tookMs } = await tour(
      demo.world,
      demo.clock,
      tourScript(() => demo.world.start()),
    );
    expect(error).toBeUndefined();
    expect(said.filter((line) => line.startsWith('step')).map((line) => line.split(':', 1)[0])).toEqual([
      'step 1 of 7, elect',
      'step 2 of 7, failover',
      'step 3 of 7, preempt',
      'step 4 of 7, preempt',
      'step 5 of 7, conflict',
      'step 6 of 7, conflict',
      'step 7 of 7, recovery',
    ]);
    expect(said.at(-1)).toMatch(/^All 7 steps went as expected, in \d+\.\d s\.$/);
    expect(tookMs).toBeLessThan(20_000);
    // Each reason is the coordinator's own. The report of an event between two steps may come after them.
    const reasons = demo.told
      .flatMap((line) => /^coordinator (\w+): /.exec(line)?.[1] ?? [])
      .filter((reason) => !['LeaderOptimal', 'AwaitingAcks', 'HolderLate'].includes(reason));
    expect(reasons.filter((reason, index) => reason !== reasons[index - 1])).toEqual([
      'FirstElectionSettling',
      'LeaseMissing',
      'LeaseExpired',
      'BetterCandidate',
      'PreemptionPending',
      'LeaseReleased',
      'StrategyConflict',
    ]);
    // The holder that released the Lease, not the one that crashed before.
    expect(demo.told).toContainEqual(
      expect.stringContaining('LeaseReleased: sample-4 leads after sample-2 under'),
    );
    await demo.world.stop();
  });

  test('ends at once, without a timer that keeps the process alive', async () => {
    const world = new ScriptedWorld();
    const clock = new VirtualClock();
    const step = { name: 'elect', deed: '', expectation: '', act: async () => {}, isDone: () => true };
    expect((await tour(world, clock, [step])).error).toBeUndefined();
    expect(clock.pendingTimers).toBe(0);
  });

  test('fails at a step without the expected result, with the observed one', async () => {
    const world = new ScriptedWorld();
    world.current = makeState({ reason: 'LeaseMissing', lease: makeLease({ remainingMs: 1500 }) });
    const { said, error, tookMs } = await tour(world, new VirtualClock(), tourScript(start));
    // Its first step succeeds in this world: sample-3 leads. Its second one does not.
    expect(error).toBeInstanceOf(TourError);
    expect(error).toMatchObject({
      message:
        'step 2 of 7, failover: expected that sample-2, the best of the other candidates, leads as soon as the Lease has expired; ' +
        'after 34.0 s instead: sample-3 holds the Lease for 1.5 s more, strategy OldestEmulationVersion; ' +
        'candidates: sample-3 leading, sample-2 live, sample-1 awaiting; decision: LeaseMissing',
    });
    expect(said.at(-1)).toMatch(
      /^ {2}FAILED: {3}not within 34\.0 s; instead: sample-3 holds the Lease for 1\.5 s more/,
    );
    expect(tookMs).toBe(34_000);
  });

  test.each<{ name: string; state: DemoState; want: RegExp }>([
    {
      name: 'there is no Lease',
      state: makeState({ lease: undefined, candidates: [], reason: 'NoCandidates' }),
      want: /elect: .* instead: there is no Lease; candidates: none; decision: NoCandidates$/,
    },
    {
      name: 'two candidates lead',
      state: makeState({ candidates: rows(['sample-3', 'leading'], ['sample-2', 'leading']) }),
      want: /elect: .* candidates: sample-3 leading, sample-2 leading; /,
    },
    {
      name: 'the Lease has no holder',
      state: makeState({ lease: makeLease({ holder: '', strategy: '' }) }),
      want: /elect: .* instead: no candidate holds the Lease, strategy none; /,
    },
    {
      name: 'another candidate is preferred',
      state: makeState({ lease: makeLease({ preferredHolder: 'sample-1', remainingMs: 0 }) }),
      want: /elect: .* instead: sample-3 holds the Lease but it has expired, sample-1 is preferred, /,
    },
  ])('fails at its first step when $name', async ({ state, want }) => {
    const world = new ScriptedWorld();
    world.current = state;
    const { error } = await tour(world, new VirtualClock(), tourScript(start));
    expect(String(error)).toMatch(want);
  });

  test('fails when the Lease is granted in spite of the conflict', async () => {
    const clock = new VirtualClock();
    const lost = makeLease({ holder: 'sample-4', remainingMs: 0 });
    const conflict = makeState({
      reason: 'StrategyConflict',
      lease: lost,
      candidates: rows(['sample-4', 'crashed'], ['sample-2', 'idle']),
    });
    const world = new ScriptedWorld({
      async killLeader() {
        world.current = conflict;
        // Not long enough after the expiry to count as unattended.
        clock.setTimer(() => {
          world.current = { ...conflict, lease: makeLease({ holder: 'sample-2' }) };
        }, 900);
      },
    });
    const { error } = await tour(world, clock, tourScript(start).slice(5, 6));
    expect(String(error)).toMatch(
      /the Lease expires, and no candidate gets it.* instead: sample-2 holds the Lease/,
    );
  });

  test('fails at once when a command fails', async () => {
    const failing = async () => {
      throw new Error('the server is gone');
    };
    const { error, tookMs } = await tour(new ScriptedWorld(), new VirtualClock(), tourScript(failing));
    expect(error).toMatchObject({ name: 'TourError', message: 'step 1 of 7, elect: the server is gone' });
    expect(tookMs).toBeLessThanOrEqual(50);
  });

  test('does not accept an earlier state as the result of a command', async () => {
    const clock = new VirtualClock();
    const slowStart = () => new Promise<void>((resolve) => clock.setTimer(resolve, 3000));
    const { error, tookMs } = await tour(new ScriptedWorld(), clock, tourScript(slowStart).slice(0, 1));
    expect({ error, tookMs }).toEqual({ error: undefined, tookMs: 3000 });
  });

  test('ends on request, and reports its step', async () => {
    const clock = new VirtualClock();
    const stopping = new AbortController();
    clock.setTimer(() => stopping.abort('SIGINT'), 2010);
    const { error, tookMs } = await tour(new ScriptedWorld(), clock, tourScript(start), stopping.signal);
    expect(error).toMatchObject({ message: 'step 2 of 7, failover: ended by SIGINT' });
    expect(tookMs).toBe(2010);
  });
});
