// @ts-check
/** @type {import('@stryker-mutator/api/core').PartialStrykerOptions} */
export default {
  plugins: ['./test/mutation/mutation-plugin.ts'],
  testRunner: 'resident',
  checkers: ['compiler'],
  // StrykerJS would rewrite tsconfig.json, with the TypeScript of before 7; nothing here needs it.
  ignorePatterns: ['/tsconfig*.json', '/dist', '/docs', '/charts', '/deploy', '/monitoring', '/bench'],
  mutate: [
    'src/election/**/*.ts',
    'src/controller/{order-and-limit,redundancy,renewal-only,write-outcomes}.ts',
    'src/controller/lock/{lock-decision,lock-record,lock-settings}.ts',
  ],
  coverageAnalysis: 'perTest',
  concurrency: 1,
  // A busy machine is no reason to count a mutant as found: the runner itself ends endless loops.
  timeoutMS: 60_000,
  incrementalFile: 'reports/mutation/incremental.json',
  reporters: ['clear-text', 'json', 'progress-append-only'],
  jsonReporter: { fileName: 'reports/mutation/mutation.json' },
  clearTextReporter: { logTests: false, reportTests: false },
  thresholds: { high: 98, low: 95, break: 95 },
};
