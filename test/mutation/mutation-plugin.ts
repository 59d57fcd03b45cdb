import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import {
  type DryRunResult,
  DryRunStatus,
  type MutantRunOptions,
  type MutantRunResult,
  MutantRunStatus,
  type TestResult,
  type TestRunner,
  type TestRunnerCapabilities,
  TestStatus,
} from '@stryker-mutator/api/test-runner';
import { createVitest, type Vitest } from 'vitest/node';
import { CompilerChecker } from './compiler-checker.ts';
import {
  CHANNEL,
  type FromWorker,
  type Loaded,
  type LoadedTest,
  type ToWorker,
  type Tried,
} from './messages.ts';

const OPTIONS = { config: 'vitest.mutation.config.ts', watch: false, reporters: [] };

/** The cache of parsed versions: later mutants would find what a mutant left there. */
const REMEMBERS = /src\/election\/version\.ts$/;

declare module 'vitest' {
  interface ProvidedContext {
    testFiles: number;
    mutantId: string;
  }
}

/**
 * Runs tests for StrykerJS in one Vitest worker that stays. Surviving mutants in code that runs while the tests are
 * loaded are tried again in a new worker.
 */
class ResidentTestRunner implements TestRunner {
  readonly #channel = new BroadcastChannel(CHANNEL);
  #resident: Vitest | undefined;
  #reloading: Vitest | undefined;
  #onLoad: ReadonlySet<string> = new Set();

  capabilities(): TestRunnerCapabilities {
    return { reloadEnvironment: true };
  }

  async dryRun(): Promise<DryRunResult> {
    const { tests, coverage } = await this.#load();
    return { status: DryRunStatus.Complete, tests: tests.map(testResult), mutantCoverage: coverage };
  }

  async mutantRun(options: MutantRunOptions): Promise<MutantRunResult> {
    const { activeMutant, testFilter, mutantActivation } = options;
    if (mutantActivation === 'static' || REMEMBERS.test(activeMutant.fileName)) return this.#reload(options);
    // StrykerJS starts the process of this plugin anew after a time-out, without another dry run.
    if (!this.#resident) await this.#load();
    const answer = this.#next<Tried>('tried');
    this.#post({ kind: 'trial', mutantId: activeMutant.id, testIds: testFilter });
    const { testsRun, killedBy, failure, isEndless } = await answer;
    if (isEndless) return { status: MutantRunStatus.Timeout, reason: 'it is evaluated without end' };
    if (killedBy !== undefined) {
      const killed = { nrOfTests: testsRun, killedBy: [killedBy], failureMessage: failure };
      return { status: MutantRunStatus.Killed, ...killed };
    }
    if (this.#onLoad.has(activeMutant.id)) return this.#reload(options);
    return { status: MutantRunStatus.Survived, nrOfTests: testsRun };
  }

  async dispose(): Promise<void> {
    this.#post({ kind: 'end' });
    this.#channel.close();
    await Promise.all([this.#resident?.close(), this.#reloading?.close()]);
  }

  async #load(): Promise<Loaded> {
    const vitest = await createVitest('test', { ...OPTIONS, runner: 'test/mutation/resident-runner.ts' });
    this.#resident = vitest;
    const files = await vitest.globTestSpecifications();
    vitest.provide('testFiles', files.length);
    const answer = this.#next<Loaded>('loaded');
    const ended = vitest.runTestSpecifications(files).then(() => {
      const errors = vitest.state.getUnhandledErrors().map(String);
      throw new Error(`the tests could not be loaded: ${errors.join()}`);
    });
    ended.catch(() => {});
    const loaded = await Promise.race([answer, ended]);
    this.#onLoad = new Set(loaded.onLoad);
    return loaded;
  }

  /** Loads everything with the mutant active. */
  async #reload({ activeMutant }: MutantRunOptions): Promise<MutantRunResult> {
    this.#reloading ??= await createVitest('test', {
      ...OPTIONS,
      bail: 1,
      setupFiles: ['test/mutation/fewer-examples.ts', 'test/mutation/static-mutant.ts'],
    });
    const vitest = this.#reloading;
    vitest.provide('mutantId', activeMutant.id);
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(
      await vitest.globTestSpecifications(),
    );
    const tests = testModules.flatMap((module) => [...module.children.allTests()]);
    const failed = tests.find((test) => test.result().state === 'failed');
    const isUnloadable =
      testModules.some((module) => module.errors().length > 0) || unhandledErrors.length > 0;
    if (!failed && !isUnloadable) return { status: MutantRunStatus.Survived, nrOfTests: tests.length };
    return {
      status: MutantRunStatus.Killed,
      nrOfTests: tests.length,
      killedBy: failed ? [`${failed.module.relativeModuleId} > ${failed.fullName}`] : [],
      failureMessage: failed?.result().errors?.[0]?.message ?? 'the tests could not be loaded',
    };
  }

  #post(message: ToWorker): void {
    this.#channel.postMessage(message);
  }

  #next<M extends FromWorker>(kind: M['kind']): Promise<M> {
    return new Promise((resolve) => {
      this.#channel.onmessage = (event) => {
        const message = (event as { data: FromWorker }).data;
        if (message.kind === kind) resolve(message as M);
      };
    });
  }
}

function testResult({ id, fileName, timeSpentMs, failure }: LoadedTest): TestResult {
  const base = { id, name: id, fileName, timeSpentMs };
  return failure === undefined
    ? { ...base, status: TestStatus.Success }
    : { ...base, status: TestStatus.Failed, failureMessage: failure };
}

export const strykerPlugins = [
  declareClassPlugin(PluginKind.TestRunner, 'resident', ResidentTestRunner),
  declareClassPlugin(PluginKind.Checker, 'compiler', CompilerChecker),
];
