import type { AnyStep, Model } from './explore.ts';

/** The result of a replay. */
export interface Replay {
  /** Promises that were broken during the replay; empty if the rules have improved. */
  readonly violations: readonly string[];
  /** Number of its steps that were possible, and number of steps that are no longer possible. */
  readonly followed: number;
  readonly skipped: number;
}

const TICK = 'a tick passes';
/** The steps that coordinators take by themselves. */
const WORK = /^(coordinator|replica) \d+ (sees|lists|hears|decides|reads|attempts)/;
/** Time to run after the end of the transcript, in which its effects appear. */
const TICKS_AFTERWARDS = 4;

/** The choices of a transcript, in order. */
export function choicesIn(transcript: string): readonly string[] {
  return transcript.split('\n').flatMap((line) => /^tick \d+\s+([^(|]*[^(| ])/.exec(line)?.[1] ?? []);
}

/**
 * Replays a transcript as far as possible. Coordinators may decide differently today, so impossible steps are
 * skipped. Time passes as in the transcript, after the coordinators have acted.
 */
export function replay<State>(model: Model<State>, choices: readonly string[]): Replay {
  const violations: string[] = [];
  let state = model.initial;
  let skipped = 0;
  const take = (isWanted: (choice: string) => boolean): boolean => {
    const step = [...model.steps(state)].find(({ choice }) => isWanted(choice));
    if (!step) return false;
    if (step.violation !== undefined) violations.push(step.violation);
    state = step.world;
    return true;
  };
  const afterwards = new Array<string>(TICKS_AFTERWARDS).fill(TICK);
  for (const choice of [...choices, ...afterwards]) {
    if (choice === TICK) {
      for (let count = 0; count < 50 && !take((other) => other === TICK); count++)
        if (!take((other) => WORK.test(other)) && !take(() => true)) break;
    } else if (!take((other) => other === choice)) {
      skipped++;
    }
  }
  return { violations, followed: choices.length - skipped, skipped };
}

/** A step as text in a transcript. A replay reads only its choice. */
export function lineOf<State>(
  { choice, note }: AnyStep<State>,
  tick: number,
  ...then: readonly string[]
): string {
  const what = `${choice}${note === undefined ? '' : ` (${note})`}`;
  return [`${`tick ${tick}`.padEnd(8)}${what}`, ...then].join(' | ');
}
