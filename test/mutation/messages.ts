import type { MutantCoverage } from '@stryker-mutator/api/core';

/** Messages between the worker that keeps the tests loaded and the plugin that knows the mutants. */
export const CHANNEL = 'mutation';

/** A test, with its result without mutants. */
export interface LoadedTest {
  readonly id: string;
  readonly fileName: string;
  readonly timeSpentMs: number;
  /** Undefined if it passed. */
  readonly failure: string | undefined;
}

/** From the worker, when every test has run without a mutant. */
export interface Loaded {
  readonly kind: 'loaded';
  readonly tests: readonly LoadedTest[];
  readonly coverage: MutantCoverage;
  /**
   * The mutants in code that ran while the tests were loaded, for example for tables of cases, and perhaps in tests
   * as well.
   */
  readonly onLoad: readonly string[];
}

/** To the worker: run these tests with this mutant until one fails. */
export interface Trial {
  readonly kind: 'trial';
  readonly mutantId: string;
  readonly testIds: readonly string[] | undefined;
}

/** From the worker: the result of a trial. */
export interface Tried {
  readonly kind: 'tried';
  readonly testsRun: number;
  readonly killedBy: string | undefined;
  readonly failure: string;
  readonly isEndless: boolean;
}

/** To the worker: there are no more trials. */
export interface End {
  readonly kind: 'end';
}

export type FromWorker = Loaded | Tried;
export type ToWorker = Trial | End;
