import type { DemoState } from './demo-state.ts';
import type { DemoCommands } from './sample-cast.ts';

/** One thing that is done, and what must come of it. */
export interface TourScene {
  /** What is done, in words. */
  readonly deed: string;
  /** What must come of it, in words that complete "expected: ". */
  readonly expectation: string;
  act(commands: DemoCommands): Promise<void>;
  /** Whether it has come about. */
  isDone(state: DemoState): boolean;
  /** For how long it must stay so, in milliseconds; 0 if not given. */
  readonly staysForMs?: number;
  /** How long it may take, in milliseconds. */
  readonly withinMs: number;
}

/** A part of the tour. */
export interface TourStep {
  readonly name: string;
  readonly scenes: readonly TourScene[];
}

/** Generous: a slow machine is no failure. */
const SLACK_MS = 12_000;

/**
 * The tour: elect, failover, preempt, conflict, recovery. It names the candidates that a SampleCast starts, in their order.
 *
 * @param start starts the world, its three candidates included.
 * @param leaseDurationMs how long a Lease outlives its holder.
 */
export function tourScript(start: () => Promise<void>, leaseDurationMs: number): readonly TourStep[] {
  const withinMs = leaseDurationMs + SLACK_MS;
  return [
    {
      name: 'elect',
      scenes: [
        {
          deed: 'three candidates of different versions start on one Lease',
          expectation:
            'sample-3 leads: of the two that emulate the oldest version it has the oldest binary itself',
          act: start,
          isDone: leads('sample-3'),
          withinMs,
        },
      ],
    },
    {
      name: 'failover',
      scenes: [
        {
          deed: 'the leader is killed: it releases nothing and tells nobody',
          expectation: 'sample-2, the best of those left, leads as soon as the Lease has run out',
          act: (commands) => commands.killLeader(),
          isDone: leads('sample-2'),
          withinMs,
        },
      ],
    },
    {
      name: 'preempt',
      scenes: [
        {
          deed: 'a candidate of an older version starts',
          expectation: 'sample-4 is preferred, and sample-2 is told to stop, which takes it a second',
          act: (commands) => commands.addOlder(),
          isDone: ({ lease }) => lease?.preferredHolder === 'sample-4' && lease.holder === 'sample-2',
          withinMs,
        },
        {
          deed: 'the leader has stopped, and releases the Lease',
          expectation: 'sample-4 leads at once',
          act: async () => {},
          isDone: leads('sample-4'),
          withinMs,
        },
      ],
    },
    {
      name: 'conflict',
      scenes: [
        {
          deed: 'a candidate of the newest version starts and wants another strategy',
          expectation: 'the coordinator finds a StrategyConflict, and sample-4 leads on undisturbed',
          act: (commands) => commands.conflictOrResolve(),
          isDone: (state) => state.reason === 'StrategyConflict' && leads('sample-4')(state),
          withinMs,
        },
        {
          deed: 'the leader is killed',
          expectation: 'the Lease runs out and is given to nobody, as nobody can tell by what strategy',
          act: (commands) => commands.killLeader(),
          isDone: ({ lease, reason, candidates }) =>
            reason === 'StrategyConflict' &&
            lease?.remainingMs === 0 &&
            candidates.every(({ condition }) => condition !== 'leading'),
          staysForMs: 1000,
          withinMs,
        },
      ],
    },
    {
      name: 'recovery',
      scenes: [
        {
          deed: 'what was killed is started again, and the one that wanted another strategy leaves',
          expectation: 'sample-4, the best of all, leads again',
          act: async (commands) => {
            await commands.restartCrashed();
            await commands.conflictOrResolve();
          },
          isDone: leads('sample-4'),
          withinMs,
        },
      ],
    },
  ];
}

function leads(name: string): (state: DemoState) => boolean {
  return ({ lease, candidates }) =>
    lease?.holder === name &&
    lease.preferredHolder === '' &&
    candidates.every((row) => (row.condition === 'leading') === (row.name === name));
}
