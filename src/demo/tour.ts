import { type Clock, sleep } from '../support/clock.ts';
import { messageOf } from '../support/text.ts';
import type { DemoState } from './demo-state.ts';
import type { DemoCommands } from './sample-cast.ts';
import type { TourScene, TourStep } from './tour-script.ts';
import { describeState, seconds } from './wording.ts';

/** What a tour goes through. */
export interface TourWorld {
  readonly commands: DemoCommands;
  state(): DemoState;
  onChange(listener: () => void): () => void;
}

/** What a tour needs. */
export interface TourParts {
  readonly world: TourWorld;
  readonly clock: Clock;
  readonly steps: readonly TourStep[];
  /** Takes a line for people to read. */
  readonly say: (line: string) => void;
  /** Ends the tour before its end; its reason says why. */
  readonly signal: AbortSignal;
}

/** A tour that did not go as it should; the message says where, and what was seen instead. */
export class TourError extends Error {
  override readonly name = 'TourError';
}

/** How often to look when nothing changes but the time, in milliseconds. */
const LOOK_MS = 50;

/**
 * Goes through the steps, one after the other, and says what is expected and what comes.
 *
 * @throws {TourError} when something expected has not come about in its time, or the tour was ended.
 */
export async function runTour({ world, clock, steps, say, signal }: TourParts): Promise<void> {
  const startedAt = clock.now();
  for (const [index, step] of steps.entries()) {
    const title = `step ${index + 1} of ${steps.length}, ${step.name}`;
    for (const scene of step.scenes) {
      say(`${title}: ${scene.deed}`);
      say(`  expected: ${scene.expectation}`);
      await play(scene, title, { world, clock, say, signal });
    }
  }
  say(`All ${steps.length} steps came out as expected, in ${seconds(clock.now() - startedAt)}.`);
}

async function play(
  scene: TourScene,
  title: string,
  { world, clock, say, signal }: Omit<TourParts, 'steps'>,
): Promise<void> {
  const startedAt = clock.now();
  const deed: { isDone: boolean; failure?: TourError } = { isDone: false };
  scene.act(world.commands).then(
    () => {
      deed.isDone = true;
    },
    (cause: unknown) => {
      const problem = messageOf(cause);
      deed.failure = new TourError(`${title}: ${problem}`, { cause });
    },
  );
  for (let doneAt: number | undefined; ; await nextLook(world, clock, signal)) {
    const now = clock.now();
    const state = world.state();
    if (deed.failure) throw deed.failure;
    if (!deed.isDone || !scene.isDone(state)) doneAt = undefined;
    else doneAt ??= now;
    if (doneAt !== undefined && now - doneAt >= (scene.staysForMs ?? 0)) {
      say(`  came out: after ${seconds(now - startedAt)}: ${describeState(state)}`);
      return;
    }
    if (signal.aborted) throw new TourError(`${title}: ended by ${String(signal.reason)}`);
    if (now - startedAt >= scene.withinMs) {
      const instead = describeState(state);
      say(`  FAILED:   not within ${seconds(scene.withinMs)}; instead: ${instead}`);
      throw new TourError(
        `${title}: expected that ${scene.expectation}; after ${seconds(now - startedAt)} instead: ${instead}`,
      );
    }
  }
}

/** Waits for a change, or a moment. */
async function nextLook(world: TourWorld, clock: Clock, signal: AbortSignal): Promise<void> {
  const changed = new AbortController();
  const wake = () => changed.abort();
  const forget = world.onChange(wake);
  signal.addEventListener('abort', wake, { once: true });
  await sleep(clock, LOOK_MS, changed.signal);
  forget();
  signal.removeEventListener('abort', wake);
}
