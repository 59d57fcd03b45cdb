import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['**/*.e2e.test.ts'],
    // Many tests wait for processes and real time: one worker less than there are processors would leave small machines idle.
    maxWorkers: '100%',
  },
});
