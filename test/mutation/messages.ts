import type { MutantCoverage } from '@stryker-mutator/api/core';

/** What the worker in which the tests stay loaded and the plugin that knows the mutants tell each other. */
export const CHANNEL = 'mutation';

/** A test, and how it went while nothing was mutated. */
export interface LoadedTest {
  readonly id: string;
  readonly fileName: string;
  readonly timeSpentMs: number;
  /** Undefined when it passed. */
  readonly failure: string | undefined;
}

/** From the worker, once every test has run without a mutant. */
export interface Loaded {
  readonly kind: 'loaded';
  readonly tests: readonly LoadedTest[];
  readonly coverage: MutantCoverage;
  /** The mutants that were evaluated while the tests were loaded, as for tables of cases, and perhaps by tests as well. */
  readonly onLoad: readonly string[];
}

/** To the worker: run these tests while this mutant is active, until one fails. */
export interface Trial {
  readonly kind: 'trial';
  readonly mutantId: string;
  readonly testIds: readonly string[] | undefined;
}

/** From the worker: how a trial went. */
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
