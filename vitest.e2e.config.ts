import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.e2e.test.ts'],
    // Every file starts control planes of its own and measures time: two at once on a small machine would measure each other.
    fileParallelism: false,
    testTimeout: 120_000,
    // The first run builds Kubernetes from source.
    hookTimeout: 1_800_000,
    teardownTimeout: 60_000,
  },
});
