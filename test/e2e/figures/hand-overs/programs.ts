import { MAX_WAIT_MS } from '../waits.ts';

/** A program that takes part in elections. Its name is the name of its LeaseCandidate, and its identity as a holder. */
export interface ProgramSpec {
  readonly name: string;
  readonly namespace: string;
  readonly lease: string;
  readonly emulationVersion: string;
}

/** One process, or two that belong together, with many programs, each with its own connections. */
export interface ProgramProcess {
  /** Resolves when its LeaseCandidate exists. */
  start(spec: ProgramSpec): Promise<void>;
  /**
   * Acts like a program after SIGTERM. Resolves when that has begun. Its work stops at once. SIGKILL is for programs
   * with their own processes.
   */
  stop(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Sends SIGKILL, for all its programs. Resolves when it has exited. */
  kill(): Promise<void>;
  /** The 99th percentile of its event loop's delay, in milliseconds, since the last call; 0 if it has none. */
  lateness(): Promise<number>;
}

/** A program has begun to lead: the time of the first line of its work, in milliseconds since the Unix epoch. */
export interface Work {
  readonly name: string;
  readonly lease: string;
  readonly at: number;
}

/** Records which programs have begun to work, and when. */
export class WorkLog {
  readonly #all: Work[] = [];
  readonly #listeners = new Set<(work: Work) => void>();

  readonly note = (work: Work): void => {
    this.#all.push(work);
    for (const listener of this.#listeners) listener(work);
  };

  /**
   * The first work on a Lease from `from` on, past or future, by another program than `except`; undefined: none in
   * time.
   */
  next(lease: string, from: number, except?: string): Promise<Work | undefined> {
    const matches = (work: Work) => work.lease === lease && work.at >= from && work.name !== except;
    const past = this.#all.find(matches);
    if (past) return Promise.resolve(past);
    return new Promise((resolve) => {
      const end = (work?: Work) => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        resolve(work);
      };
      const listener = (work: Work) => matches(work) && end(work);
      const timer = setTimeout(end, MAX_WAIT_MS);
      this.#listeners.add(listener);
    });
  }
}
