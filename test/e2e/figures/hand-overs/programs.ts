import { MAX_WAIT_MS } from '../waits.ts';

/** A program that takes part in elections. Its name is its LeaseCandidate's, and its identity as a holder. */
export interface ProgramSpec {
  readonly name: string;
  readonly namespace: string;
  readonly lease: string;
  readonly emulationVersion: string;
}

/** One process, or two that belong together, that many programs run in, each with connections of its own. */
export interface ProgramProcess {
  /** Resolves once its LeaseCandidate is there. */
  start(spec: ProgramSpec): Promise<void>;
  /**
   * Does what a program does at SIGTERM; resolves when that has begun. What it leads takes no time to stop. SIGKILL is for
   * programs that are a process each.
   */
  stop(name: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** SIGKILL, for all programs in it; resolves when it has ended. */
  kill(): Promise<void>;
  /** By how much, in milliseconds, its event loop was late in one case of a hundred since this was asked last; 0 where it has none. */
  lateness(): Promise<number>;
}

/** A program has begun to lead: this is when the first line of its work ran, in milliseconds since the Unix epoch. */
export interface Work {
  readonly name: string;
  readonly lease: string;
  readonly at: number;
}

/** Who has begun to work, and when. */
export class WorkLog {
  readonly #all: Work[] = [];
  readonly #listeners = new Set<(work: Work) => void>();

  readonly note = (work: Work): void => {
    this.#all.push(work);
    for (const listener of this.#listeners) listener(work);
  };

  /** The first work on a Lease from `from` on, be it past or still to come, other than of `except`; undefined: none in time. */
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
