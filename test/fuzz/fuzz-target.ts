import type fc from 'fast-check';

/** Something that takes input which others wrote, and what must hold of it. */
export interface FuzzTarget {
  readonly name: string;
  /** How many inputs `npm test` tries. */
  readonly runs: number;
  /** Gets ready; `stop` ends what that has begun. */
  start(): Promise<RunningTarget>;
}

export interface RunningTarget {
  readonly property: fc.IRawProperty<unknown>;
  stop(): Promise<void>;
}

/** A target that nothing has to be started for. */
export function pureTarget(name: string, runs: number, property: fc.IRawProperty<unknown>): FuzzTarget {
  return { name, runs, start: () => Promise.resolve({ property, stop: () => Promise.resolve() }) };
}
