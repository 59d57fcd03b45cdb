import { type Clock, sleep, within } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import { type DemoState, describeState, seconds } from './demo-state.ts';
import type { DemoWorld } from './demo-world.ts';
import type { DemoCommands } from './sample-cast.ts';

export type TourWorld = Pick<DemoWorld, 'commands' | 'state'>;

export interface TourStep {
  readonly name: string;
  readonly deed: string;
  /** The expected result. The tour prints it after "expected: ". */
  readonly expectation: string;
  act(commands: DemoCommands): Promise<void>;
  isDone(state: DemoState): boolean;
  /** How long the expected result must last without interruption, in milliseconds. Default: 0. */
  readonly staysForMs?: number;
}

/** A failed tour. The message says which step failed, and why. */
export class TourError extends Error {
  override readonly name = 'TourError';
}

const LOOK_MS = 50;

/** The timeout of a step is one Lease duration plus this time, in milliseconds. */
const SLACK_MS = 30_000;

interface TourParts {
  readonly world: TourWorld;
  readonly clock: Clock;
  readonly steps: readonly TourStep[];
  readonly leaseDurationMs: number;
  readonly say: (line: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Runs the steps in sequence. Prints the expected and the observed results.
 * @throws {TourError} if a command fails, if a result does not occur in time, or if the tour is aborted.
 */
export async function runTour(parts: TourParts): Promise<void> {
  const { clock, steps, say } = parts;
  const startedAt = clock.now();
  for (const [index, step] of steps.entries()) {
    const title = `step ${index + 1} of ${steps.length}, ${step.name}`;
    say(`${title}: ${step.deed}`);
    say(`  expected: ${step.expectation}`);
    await play(step, title, parts);
  }
  say(`All ${steps.length} steps went as expected, in ${seconds(clock.now() - startedAt)}.`);
}

/**
 * Returns the steps of the tour: elect, failover, preempt, conflict, recovery.
 * @param start starts the world with its three candidates.
 */
export function tourScript(start: () => Promise<void>): readonly TourStep[] {
  return [
    {
      name: 'elect',
      deed: 'three candidates of different versions start on one Lease',
      expectation:
        'sample-3 leads: of the two candidates that emulate the oldest version, its binary is the oldest',
      act: start,
      isDone: leads('sample-3'),
    },
    {
      name: 'failover',
      deed: 'the leader is killed: it does not release the Lease',
      expectation: 'sample-2, the best of the other candidates, leads as soon as the Lease has expired',
      act: (commands) => commands.killLeader(),
      isDone: leads('sample-2'),
    },
    {
      name: 'preempt',
      deed: 'a candidate of an older version starts',
      expectation: 'sample-4 is preferred, and sample-2 is asked to stop, which takes a second',
      act: (commands) => commands.addOlder(),
      isDone: ({ lease }) => lease?.preferredHolder === 'sample-4' && lease.holder === 'sample-2',
    },
    {
      name: 'preempt',
      deed: 'the leader has stopped, and releases the Lease',
      expectation: 'sample-4 leads at once',
      act: async () => {},
      isDone: leads('sample-4'),
    },
    {
      name: 'conflict',
      deed: 'a candidate of the newest version starts and wants another strategy',
      expectation: 'the coordinator finds a StrategyConflict, and sample-4 continues to lead',
      act: (commands) => commands.conflictOrResolve(),
      isDone: (state) => state.reason === 'StrategyConflict' && leads('sample-4')(state),
    },
    {
      name: 'conflict',
      deed: 'the leader is killed',
      expectation: 'the Lease expires, and no candidate gets it: the candidates do not agree on a strategy',
      act: (commands) => commands.killLeader(),
      isDone: ({ lease, reason, candidates }) =>
        reason === 'StrategyConflict' &&
        lease?.remainingMs === 0 &&
        candidates.every(({ condition }) => condition !== 'leading'),
      staysForMs: 1000,
    },
    {
      name: 'recovery',
      deed: 'the killed candidates start again, and the candidate with the other strategy is stopped',
      expectation: 'sample-4, the best of all, leads again',
      act: async (commands) => {
        await commands.restartCrashed();
        await commands.conflictOrResolve();
      },
      isDone: leads('sample-4'),
    },
  ];
}

async function play(step: TourStep, title: string, parts: TourParts): Promise<void> {
  const { world, clock, leaseDurationMs, say, signal } = parts;
  const startedAt = clock.now();
  const withinMs = leaseDurationMs + SLACK_MS;
  let hasActed = false;
  const act = async () => {
    await step.act(world.commands);
    hasActed = true;
  };
  await within(clock, withinMs, act(), signal).catch((cause: unknown) => {
    throw new TourError(`${title}: ${messageOf(cause)}`, { cause });
  });
  for (let doneAt: number | undefined; ; await sleep(clock, LOOK_MS, signal)) {
    const now = clock.now();
    const state = world.state();
    doneAt = hasActed && step.isDone(state) ? (doneAt ?? now) : undefined;
    if (doneAt !== undefined && now - doneAt >= (step.staysForMs ?? 0)) {
      say(`  observed: after ${seconds(now - startedAt)}: ${describeState(state)}`);
      return;
    }
    if (signal.aborted) throw new TourError(`${title}: ended by ${String(signal.reason)}`);
    if (now - startedAt < withinMs) continue;
    const instead = describeState(state);
    say(`  FAILED:   not within ${seconds(withinMs)}; instead: ${instead}`);
    throw new TourError(
      `${title}: expected that ${step.expectation}; after ${seconds(now - startedAt)} instead: ${instead}`,
    );
  }
}

function leads(name: string): (state: DemoState) => boolean {
  return ({ lease, candidates }) =>
    lease?.holder === name &&
    lease.preferredHolder === '' &&
    candidates.every((row) => (row.condition === 'leading') === (row.name === name));
}
