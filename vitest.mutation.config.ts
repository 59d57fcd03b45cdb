import { defineConfig } from 'vitest/config';

/** The tests of the rules, as `npm run mutation` runs them: one worker that loads them once and keeps them. */
export default defineConfig({
  resolve: {
    alias: {
      'coordinated-leader-election/election': `${import.meta.dirname}/src/election-library.ts`,
      'coordinated-leader-election': `${import.meta.dirname}/src/index.ts`,
    },
  },
  test: {
    // The full title identifies a test. If titles were cut, rows of a table could have the same title, and only one would run.
    taskTitleValueFormatTruncate: 0,
    include: [
      'test/election/**/*.test.ts',
      'test/inspection/{lease-account,lease-status}.test.ts',
      'test/telemetry/decision-report.test.ts',
      'test/controller/*.test.ts',
      'test/controller/lock/{coordinator-lock,lock-decision,lock-record,lock-settings}.test.ts',
    ],
    // Transcripts are compared with files, which only Vitest's own course of a test can do. Steps are counted by V8, which slows
    // all that is run from then on, and takes as long as all other tests together.
    exclude: [
      'test/election/transcripts.test.ts',
      'test/election/crowds.test.ts',
      'test/controller/steps.test.ts',
      'test/controller/memory.test.ts',
    ],
    // It takes as long as a third of all others.
    testNamePattern: /^(?!.*pings silent candidates in rounds with growing pauses)/,
    setupFiles: ['test/mutation/fewer-examples.ts'],
    pool: 'threads',
    isolate: false,
    maxWorkers: 1,
    testTimeout: 60_000,
  },
});
