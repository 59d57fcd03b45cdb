import type { AnyStep, Model } from './explore.ts';

/** What came of following a transcript. */
export interface Replay {
  /** Promises that were broken on the way; none where the rules have changed for the better. */
  readonly violations: readonly string[];
  /** How many of its steps were possible, and how many were not any more. */
  readonly followed: number;
  readonly skipped: number;
}

const TICK = 'a tick passes';
/** What coordinators do by themselves. */
const WORK = /^(coordinator|replica) \d+ (sees|lists|hears|decides|reads|attempts)/;
/** Time after the end of the transcript, in which what it has led to shows. */
const TICKS_AFTERWARDS = 4;

/** The choices of a transcript, in their order. */
export function choicesIn(transcript: string): readonly string[] {
  return transcript.split('\n').flatMap((line) => /^tick \d+\s+([^(|]*[^(| ])/.exec(line)?.[1] ?? []);
}

/**
 * Follows a transcript as far as it is possible: what a coordinator decides may be something else by now, and what is not
 * possible any more is left out. Time passes whenever it does in the transcript, once coordinators have done their work.
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

/** A step as it is written into a transcript: nothing of it but its choice is read again. */
export function lineOf<State>(
  { choice, note }: AnyStep<State>,
  tick: number,
  ...then: readonly string[]
): string {
  const what = `${choice}${note === undefined ? '' : ` (${note})`}`;
  return [`${`tick ${tick}`.padEnd(8)}${what}`, ...then].join(' | ');
}
