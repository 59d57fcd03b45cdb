import { defineConfig } from 'vitest/config';

export default defineConfig({
  // The examples import the package by its name, as its users do.
  resolve: {
    alias: {
      'coordinated-leader-election/election': `${import.meta.dirname}/src/election-library.ts`,
      'coordinated-leader-election': `${import.meta.dirname}/src/index.ts`,
    },
  },
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/*.e2e.test.ts'],
    // Many tests wait for processes and real time: one worker less than there are processors would leave small machines idle.
    maxWorkers: '100%',
    // What they wait for takes a second or two; a machine that is busy with other things must not make them fail.
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
