import type fc from 'fast-check';

/** Code that reads untrusted input, with its property. */
export interface FuzzTarget {
  readonly name: string;
  /** Number of inputs in `npm test`. */
  readonly runs: number;
  /** Prepares the target; `stop` ends it. */
  start(): Promise<RunningTarget>;
}

export interface RunningTarget {
  readonly property: fc.IRawProperty<unknown>;
  stop(): Promise<void>;
}

/** A target that needs no preparation. */
export function pureTarget(name: string, runs: number, property: fc.IRawProperty<unknown>): FuzzTarget {
  return { name, runs, start: () => Promise.resolve({ property, stop: () => Promise.resolve() }) };
}
