import {
  inject,
  type RunnerTestCase,
  type RunnerTestFile,
  type RunnerTestSuite,
  TestRunner,
  type TestTryOptions,
} from 'vitest';
import {
  CHANNEL,
  type FromWorker,
  type LoadedTest,
  type ToWorker,
  type Trial,
  type Tried,
} from './messages.ts';

/** A missing answer does not count as a surviving mutant. */
const LONGEST_TEST_MS = 10_000;

/** If a test evaluates a mutant this many times more than without it, it has an endless loop. */
const MAX_HITS = 10_000;
const HITS_FACTOR = 20;

/** The global state of instrumented code, under StrykerJS's name. */
interface Instrumentation {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

/** The files of one worker, which loads each once, and runs them one after the other. */
interface Residence {
  readonly tests: Map<string, { readonly test: RunnerTestCase; readonly runner: ResidentRunner }>;
  filesLeft: number;
}

const scope = globalThis as typeof globalThis & { __stryker__?: Instrumentation; residence?: Residence };
scope.__stryker__ ??= {};
scope.residence ??= { tests: new Map(), filesLeft: inject('testFiles') };
const code = scope.__stryker__;
const { residence } = scope;

/**
 * Keeps the test files loaded and runs single tests again, once for each mutant: loading takes a hundred times longer
 * than the tests.
 */
export default class ResidentRunner extends TestRunner {
  override onBeforeTryTask(test: RunnerTestCase, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options);
    code.currentTestId = idOf(test);
  }

  override onAfterTryTask(test: RunnerTestCase): void {
    code.currentTestId = undefined;
    super.onAfterTryTask(test);
  }

  override async onAfterRunFiles(files: RunnerTestFile[]): Promise<void> {
    for (const file of files) {
      for (const test of testsIn(file)) {
        if (test.mode !== 'skip') residence.tests.set(idOf(test), { test, runner: this });
      }
      residence.filesLeft--;
    }
    if (residence.filesLeft === 0) await this.#serve();
    super.onAfterRunFiles(files);
  }

  async #serve(): Promise<void> {
    const { perTest = {}, static: always = {} } = code.mutantCoverage ?? {};
    const inTests = new Set(Object.values(perTest).flatMap(Object.keys));
    const onlyOnLoad = Object.fromEntries(Object.entries(always).filter(([id]) => !inTests.has(id)));
    const onLoad = Object.keys(always);
    const tests: LoadedTest[] = [];
    for (const { test, runner } of residence.tests.values()) tests.push(await runner.#runAgain(test));
    const channel = new BroadcastChannel(CHANNEL);
    const post = (message: FromWorker) => channel.postMessage(message);
    await new Promise<void>((resolve) => {
      channel.onmessage = async (event) => {
        const message = (event as { data: ToWorker }).data;
        if (message.kind === 'end') resolve();
        else post(await this.#try(message));
      };
      post({ kind: 'loaded', tests, coverage: { perTest, static: onlyOnLoad }, onLoad });
    });
    channel.close();
  }

  async #try({ mutantId, testIds }: Trial): Promise<Tried> {
    const { tests } = residence;
    const tried = (testIds ?? [...tests.keys()]).flatMap((id) => tests.get(id) ?? []);
    tried.sort((a, b) => durationOf(a.test) - durationOf(b.test));
    code.activeMutant = mutantId;
    let testsRun = 0;
    let isEndless = false;
    let result: Pick<Tried, 'killedBy' | 'failure'> = { killedBy: undefined, failure: '' };
    for (const { test, runner } of tried) {
      testsRun++;
      const usual = code.mutantCoverage?.perTest[idOf(test)]?.[mutantId] ?? 0;
      code.hitCount = 0;
      code.hitLimit = MAX_HITS + HITS_FACTOR * usual;
      try {
        await runner.#run(test);
      } catch (error) {
        result = { killedBy: idOf(test), failure: String(error) };
      }
      isEndless = code.hitCount > code.hitLimit;
      if (isEndless || result.killedBy !== undefined) break;
    }
    code.activeMutant = undefined;
    return { kind: 'tried', testsRun, isEndless, ...result };
  }

  /** A test that fails when it runs for the second time would seem to kill every mutant. */
  async #runAgain(test: RunnerTestCase): Promise<LoadedTest> {
    const result = resultOf(test);
    if (result.failure !== undefined) return result;
    try {
      await this.#run(test);
      return result;
    } catch (error) {
      return { ...result, failure: `passed only once: ${String(error)}` };
    }
  }

  async #run(test: RunnerTestCase): Promise<void> {
    const suites = suitesOf(test);
    await super.onBeforeRunSuite(test.file);
    super.onBeforeTryTask(test, { retry: 0, repeats: 0 });
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the test does not end')), LONGEST_TEST_MS);
    });
    const run = async () => {
      for (const suite of suites) {
        for (const hook of TestRunner.getSuiteHooks(suite).beforeEach) await hook(test.context, suite);
      }
      try {
        await TestRunner.getTestFn(test)();
      } finally {
        for (const suite of suites) {
          for (const hook of TestRunner.getSuiteHooks(suite).afterEach) await hook(test.context, suite);
        }
      }
    };
    try {
      await Promise.race([run(), late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

function testsIn(suite: RunnerTestSuite): readonly RunnerTestCase[] {
  return suite.tasks.flatMap((task) => (task.type === 'suite' ? testsIn(task) : [task]));
}

/** The suites of a test, outermost first. */
function suitesOf(test: RunnerTestCase): readonly RunnerTestSuite[] {
  const suites: RunnerTestSuite[] = [];
  for (let suite = test.suite; suite; suite = suite.suite) suites.unshift(suite);
  return suites[0] === test.file ? suites : [test.file, ...suites];
}

function idOf(test: RunnerTestCase): string {
  return `${test.file.name} > ${test.fullTestName}`;
}

function durationOf(test: RunnerTestCase): number {
  return test.result?.duration ?? 0;
}

function resultOf(test: RunnerTestCase): LoadedTest {
  const isPassed = test.result?.state === 'pass';
  const failure = isPassed ? undefined : (test.result?.errors?.[0]?.message ?? 'it did not run');
  return { id: idOf(test), fileName: test.file.filepath, timeSpentMs: durationOf(test), failure };
}
